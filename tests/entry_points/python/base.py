"""The services, called in this process."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from entry_points.base import Door, Refused, id_of
from remembrancer import (
    Actor,
    Remembrancer,
    RemembrancerError,
    Role,
    User,
)


def _fields_of(error: ValidationError) -> list[str]:
    found = []
    for each in error.errors():
        name, _, rule = str(each["msg"]).removeprefix("Value error, ").partition(": ")
        path = [str(part) for part in each["loc"]]
        found.append(".".join([*path, name] if rule and each["type"] == "value_error" else path))
    return found


def parsed(kind: Any, value: Any, *, within: str = "") -> Any:
    """``value`` as the library's type; refused like a request if it is none."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise Refused(422, [within + field for field in _fields_of(error)]) from error


@dataclass(frozen=True)
class PythonCalls(Door):
    """Calls a service for the actor of the door."""

    memory: Remembrancer
    actor: Actor

    async def of(self, user: User) -> "PythonCalls":
        return replace(self, actor=Actor(Role.USER, user_id=user.id))

    async def as_admin(self) -> "PythonCalls":
        return replace(self, actor=Actor(Role.ADMIN))

    def _for(self, user: Any, agent: Any = None) -> Actor:
        ids = [parsed(UUID | None, id_of(one)) for one in (user, agent)]
        return self.actor.acting_for(*ids)

    async def _tried(self, call: Callable[[], Any]) -> Any:
        try:
            answer = await call()
        except RemembrancerError as error:
            fields = [error.field] if error.field else []
            raise Refused(error.status, fields, **error.extra) from error
        return TypeAdapter(Any).dump_python(answer, mode="json")
