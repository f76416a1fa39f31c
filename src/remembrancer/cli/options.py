"""Arguments and options that several commands share."""

from datetime import datetime
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
ExpiresAt = Annotated[
    datetime | None, typer.Option(help="When it ends, in UTC.", show_default="never")
]
MetadataOption = Annotated[
    str,
    typer.Option(
        help='Only with this metadata, as JSON: {"project": "atlas"}.', show_default=False
    ),
]
AgentArgument = Annotated[str, typer.Argument(help=f"The agent: {_AGENT}.")]
AgentOption = Annotated[str | None, typer.Option(help=f"The agent: {_AGENT}.")]
