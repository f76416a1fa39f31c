"""Arguments and options that several commands share."""

from datetime import datetime
from typing import Annotated

import typer

_USER = "id, platform:platform_user_id, or a unique name"
_AGENT = "id, or a unique name"

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Apply = Annotated[bool, typer.Option("--apply", help="Delete. Without it, only count.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]

UserArgument = Annotated[str, typer.Argument(help=f"A user: {_USER}.")]
UserOption = Annotated[str | None, typer.Option(help=f"A user: {_USER}.")]
RequiredUser = Annotated[str, typer.Option("--user", help=f"The user: {_USER}.")]
ExpiresAt = Annotated[datetime | None, typer.Option(help="Expiry time, in UTC. Default: never.")]
MetadataOption = Annotated[
    str, typer.Option(help='Only with this metadata, as JSON: {"project": "atlas"}.')
]
AgentArgument = Annotated[str, typer.Argument(help=f"An agent: {_AGENT}.")]
AgentOption = Annotated[str | None, typer.Option(help=f"An agent: {_AGENT}.")]
