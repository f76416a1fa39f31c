"""Names of users, agents and chats as a bot has them. Pure."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from remembrancer.agents.schemas import Agent
from remembrancer.conversations.schemas import Conversation
from remembrancer.errors import InvalidInput
from remembrancer.user_names import UserName, parse_user
from remembrancer.users.schemas import User

BotUser = User | UUID | str
"""A user, an id, ``platform:id``, or a name of your own."""
BotAgent = Agent | UUID | str
"""An agent, an id, or a name."""
BotChat = Conversation | UUID | str | int
"""A conversation, an id, ``platform:id``, or a name or number of your own."""

OWN: Final = "app"
"""The platform of names of your own."""
PLATFORMS: Final = frozenset(
    {OWN, "console", "discord", "email", "github", "instagram", "irc", "line", "matrix"}
    | {"messenger", "phone", "signal", "slack", "sms", "teams", "telegram", "twitch", "viber"}
    | {"web", "wechat", "whatsapp", "x"}
)
"""Platforms on which a name may create a user or a chat."""


def parse_id(value: UUID | str) -> UUID | None:
    """Return the id in a value; null if it is a name."""
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except ValueError:
        return None


def parse_name(value: UUID | str | int, *, field: str) -> UUID | UserName:
    """Return an id, or the platform and id of a name; raise ``InvalidInput`` if it is neither."""
    value = str(value) if isinstance(value, int) else value
    name = value if ":" in str(value) or parse_id(value) else f"{OWN}:{value}"
    try:
        return parse_user(name)
    except ValueError:
        reason = "must be an id, platform:id such as discord:1844, or a name on one line"
        raise InvalidInput(reason, field=field) from None


@contextmanager
def as_arguments(**names: str) -> Iterator[None]:
    """Name the argument that the caller wrote in the place of a model's field, in ``InvalidInput``.

    ``names`` has the argument of each field.
    """
    try:
        yield
    except InvalidInput as error:
        field = names.get(error.field or "", error.field)
        raise InvalidInput(error.reason, field=field, **error.extra) from None


def check_platform(name: UserName, *, field: str) -> None:
    """Raise ``InvalidInput`` for a platform that is more likely misspelt than new."""
    if name.platform not in PLATFORMS:
        known = ", ".join(sorted(PLATFORMS))
        raise InvalidInput(
            f"unknown platform; use {OWN}: for names of your own, or one of {known}", field=field
        )
