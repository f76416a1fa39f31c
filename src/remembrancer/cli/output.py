"""What the terminal shows: consoles, tables, and text made safe for both."""

import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import typer
from pydantic import BaseModel
from pydantic_core import to_json
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
_UNSEEN_WIDTH = 160


def console() -> Console:
    """Return the console of results. Its width when nobody looks does not depend on chance."""
    return _console(stderr=False)


def error_console() -> Console:
    """Return the console of errors and progress."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _UNSEEN_WIDTH
    return made


def plain(text: str, style: str = "") -> Text:
    """Return ``text`` on one line, with nothing in it that moves the cursor or is markup."""
    return Text(_CONTROL.sub(" ", text).strip(), style=style)


def clipped(text: str, characters: int) -> Text:
    """Return ``text`` on one line, cut where it is longer than ``characters``."""
    line = plain(text)
    line.truncate(characters, overflow="ellipsis")
    return line


def table(*columns: str, rows: Iterable[Sequence[Text | str]], title: str | None = None) -> Table:
    """Return a table; strings are shown as they are, without markup."""
    made = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return made


def day(at: datetime | None) -> str:
    """Return a day and minute, in UTC as stored."""
    return at.strftime("%Y-%m-%d %H:%M") if at else ""


def as_json(value: BaseModel | Sequence[BaseModel]) -> None:
    """Print a model, or several as a list, as JSON for programs."""
    typer.echo(to_json(value, indent=2).decode())


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="cyan")


def progress() -> Progress:
    """Return a progress bar with count, rate and time left; silent unless somebody looks."""
    shown_on = error_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=shown_on,
        disable=not shown_on.is_terminal,
        speed_estimate_period=10,
    )
