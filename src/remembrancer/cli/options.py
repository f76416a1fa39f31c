"""Arguments and options that several commands share."""

from datetime import UTC, datetime
from typing import Annotated

import typer

_USER = "an id, platform:id such as discord:1844, or a name"
_AGENT = "an id or a name"

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Apply = Annotated[
    bool, typer.Option("--apply", help="Delete. Without it, the command only counts.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]

UserArgument = Annotated[str, typer.Argument(help=f"The user: {_USER}.")]
UserOption = Annotated[str | None, typer.Option(help=f"The user: {_USER}.")]
RequiredUser = Annotated[str, typer.Option("--user", help=f"The user: {_USER}.")]
TIMES = "2027-02-01 or 2027-02-01T09:00"
"""How a time is written, as helps and errors say it."""
ExpiresAt = Annotated[
    datetime | None,
    typer.Option(help=f"When it ends, in UTC: {TIMES}.", show_default="never"),
]
MetadataOption = Annotated[
    str,
    typer.Option(
        help='Only with this metadata, as JSON: {"project": "atlas"}.', show_default=False
    ),
]
AgentArgument = Annotated[str, typer.Argument(help=f"The agent: {_AGENT}.")]
AgentOption = Annotated[str | None, typer.Option(help=f"The agent: {_AGENT}.")]


def in_utc(at: datetime | None) -> datetime | None:
    """Return a time that was typed: without a zone it is in UTC."""
    return at.replace(tzinfo=UTC) if at and at.tzinfo is None else at
