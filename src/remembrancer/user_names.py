"""Names of users: an id, or ``platform:id`` such as ``discord:1844``. Pure.

``app`` is the platform of a caller's own ids: ``app:ada``. A name never creates a user.
"""

from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import (
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from remembrancer.text import Key

NOT_A_NAME: Final = "must be an id or platform:id, such as discord:1844 or app:ada"
UNRESOLVED: Final = UUID(int=2**128 - 1)
"""User of an actor whose name is not looked up yet. Nobody has this id, so it owns nothing."""

_key: Final = TypeAdapter(Key, config=ConfigDict(defer_build=True))


class UserName(str):
    """A user by an id on a platform, as ``platform:id``."""

    __slots__ = ()

    @property
    def platform(self) -> str:
        """What is before the first colon."""
        return self.partition(":")[0]

    @property
    def platform_user_id(self) -> str:
        """What is after the first colon."""
        return self.partition(":")[2]


def parse_user(value: Any) -> UUID | UserName:
    """Return the id or name in ``value``; raise ``ValueError`` if it can be neither."""
    if isinstance(value, UUID | UserName):
        return value
    if not isinstance(value, str):
        raise ValueError(NOT_A_NAME)
    try:
        return UUID(value)
    except ValueError:
        name = UserName(value)
    try:
        _key.validate_python(name.platform)
        _key.validate_python(name.platform_user_id)
    except ValidationError:
        raise ValueError(NOT_A_NAME) from None
    return name


UserRef = Annotated[
    UUID | str,
    PlainValidator(parse_user),
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "type": "string",
            "description": "A user: an id, or platform:id.",
            "examples": ["discord:184405311681986560"],
        }
    ),
]
"""A user in a request: an id or ``platform:id``."""

AnyUser = UUID | str
"""A user as an argument of a method: an id or ``platform:id``."""
