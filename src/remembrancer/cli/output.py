"""Terminal output: consoles, tables, progress, safe text, JSON."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import typer
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
_DEFAULT_WIDTH = 160

Value = TypeVar("Value")


def console() -> Console:
    return _console(stderr=False)


def error_console() -> Console:
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    screen = Console(stderr=stderr, highlight=False)
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = _DEFAULT_WIDTH
    return screen


def plain(text: str, style: str = "") -> Text:
    """Return ``text`` on one line, without control characters and markup."""
    return Text(_CONTROL.sub(" ", text).strip(), style=style)


def clipped(text: str, characters: int) -> Text:
    line = plain(text)
    line.truncate(characters, overflow="ellipsis")
    return line


def table(*columns: str, rows: Iterable[Sequence[Text | str]], title: str | None = None) -> Table:
    """Return a table; strings are plain text, without markup."""
    grid = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return grid


def day(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M") if at else ""


def as_json(value: object) -> None:
    typer.echo(to_json(value, indent=2).decode())


def show(value: Value, json: bool, render: Callable[[Value], object]) -> None:
    if json:
        as_json(value)
    else:
        console().print(render(value), soft_wrap=True)


def new_file(path: Path | None) -> None:
    if path is not None and path.exists():
        raise typer.BadParameter("the file exists; choose another", param_hint="--output")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="cyan")


def progress() -> Progress:
    """Return a progress bar, silent without a terminal."""
    screen = error_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=screen,
        disable=not screen.is_terminal,
        speed_estimate_period=10,
    )
