"""Options that the commands ``import`` and ``watch`` share."""

from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from remembrancer.importers import DateOrder, Format
from remembrancer.users.schemas import zones


def _zone(name: str) -> ZoneInfo:
    if name not in zones():
        raise typer.BadParameter("must be an IANA time zone such as Europe/Paris")
    return ZoneInfo(name)


Platform = Annotated[str, typer.Option(help="Platform of conversations that name none.")]
FormatOption = Annotated[
    Format, typer.Option("--format", help="Format of the files; auto finds it.")
]
Me = Annotated[
    str | None,
    typer.Option("--as", help="What --user is called in the files: a name or a platform's id."),
]
Together = Annotated[
    bool, typer.Option("--together", help="All who took part recall all messages.")
]
DateOrderOption = Annotated[
    DateOrder | None, typer.Option(help="Order of day, month and year in WhatsApp's exports.")
]
TimeZone = Annotated[
    ZoneInfo | None,
    typer.Option(
        parser=_zone,
        metavar="<zone>",
        help="Time zone of times that name none, such as Europe/Paris.",
    ),
]
