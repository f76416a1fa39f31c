"""Output: tables for people and lines for programs, progress, safe text, JSON."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

import typer
from pydantic_core import to_json
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from remembrancer.sanitizer import escaped_json, visible_text
from remembrancer.statistics import Counts
from remembrancer.text import plural

_BREAK = re.compile(r"[\t\r\n]+")
_LONG: Final = 24
"""Cells with more characters may be folded, between words."""
LINE_EVERY: Final = 30.0
"""Seconds between two lines about progress, without a terminal."""
_WORD: Final = 40
"""Words with more characters may be folded; no id has them."""

Value = TypeVar("Value")


def console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def error_console() -> Console:
    return console(stderr=True)


def plain(text: str, style: str = "") -> Text:
    """Return ``text`` on one line, without hidden and control characters and markup."""
    return Text(_BREAK.sub(" ", visible_text(text)).strip(), style=style)


def clipped(text: str, characters: int) -> Text:
    line = plain(text)
    line.truncate(characters, overflow="ellipsis")
    return line


@dataclass(frozen=True, slots=True)
class Rows:
    """A list: a table on a terminal, blocks where that is too narrow, lines with tabs elsewhere."""

    columns: Sequence[str]
    cells: Sequence[Sequence[Text]]
    empty: str
    """What is said without rows."""

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        if not screen.is_terminal:
            for row in self.cells:
                line = "\t".join(" ".join(cell.plain.split()) for cell in row)
                yield Segment(f"{line}\n")
            return
        columns = [
            [Text(name), *cells] for name, *cells in zip(self.columns, *self.cells, strict=True)
        ]
        widths = _widths(columns, options.max_width - 3 * len(columns))
        if widths is None:
            yield from self._blocks()
            return
        is_long = any(cell.cell_len > _LONG for row in self.cells for cell in row)
        grid = Table(box=SIMPLE_HEAD, pad_edge=False, leading=int(is_long))
        for name, width in zip(self.columns, widths, strict=True):
            grid.add_column(name, overflow="fold", width=width)
        for row in self.cells:
            grid.add_row(*row)
        yield grid

    def _blocks(self) -> RenderResult:
        for first, *others in self.cells:
            yield Text.assemble((first.plain, "bold"))
            for name, cell in zip(self.columns[1:], others, strict=True):
                if cell.plain:
                    yield Text.assemble(f"  {name}: ", " ".join(cell.plain.split()))


def _widths(columns: Sequence[Sequence[Text]], space: int) -> list[int] | None:
    """Return the widths of columns in a space, null if a word would not fit."""
    widths, wanted = [], []
    for column in columns:
        word = max(len(word) for cell in column for word in (cell.plain.split() or [""]))
        longest = max(line.cell_len for cell in column for line in cell.split(allow_blank=True))
        widths.append(max(min(word, _WORD), min(longest, _LONG)))
        wanted.append(longest)
    left = space - sum(widths)
    if left < 0:
        return None
    # What is left over is shared, first among those that want little.
    for number, at in enumerate(sorted(range(len(widths)), key=lambda at: wanted[at] - widths[at])):
        more = min(wanted[at] - widths[at], left // (len(widths) - number))
        widths[at] += more
        left -= more
    return widths


def table(*columns: str, rows: Iterable[Sequence[Text | str]], empty: str = "") -> Rows:
    """Return a list; strings are plain text, without markup."""
    cells = [[cell if isinstance(cell, Text) else plain(cell) for cell in row] for row in rows]
    return Rows(columns, cells, empty)


def contents(counts: Counts) -> str:
    return ", ".join(
        (
            plural(counts.users, "user"),
            plural(counts.agents, "agent"),
            plural(counts.memories, "memory", "memories"),
            plural(counts.messages, "message"),
        )
    )


def day(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M") if at else ""


def as_json(value: object) -> None:
    typer.echo(escaped_json(to_json(value, indent=2).decode(), markup=False))


def show(value: Value, json: bool, render: Callable[[Value], object]) -> None:
    if json:
        as_json(value)
        return
    shown = render(value)
    if isinstance(shown, Rows) and not shown.cells:
        error_console().print(shown.empty)  # stdout has rows alone
    else:
        console().print(shown)


def new_file(path: Path | None) -> None:
    if path is not None and path.exists():
        raise typer.BadParameter("the file exists; choose another", param_hint="--output")


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="cyan")


class _Bar(Progress):
    """A bar on a terminal; elsewhere a line now and then."""

    _told_at: float | None = None

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        super().advance(task_id, advance)
        self._tell(self._tasks[task_id])

    def _tell(self, task: Task) -> None:
        if not self.disable:
            return
        now = self.get_time()
        self._told_at = now if self._told_at is None else self._told_at
        if now - self._told_at >= LINE_EVERY:
            self._told_at = now
            self.console.print(progress_line(task))


def progress_line(task: Task) -> Text:
    """Return how far a task is, how fast, and how long it will take."""
    total = "" if task.total is None else f" of {task.total:,.0f}"
    rate = f", {task.speed:,.0f}/s" if task.speed else ""
    left = task.time_remaining
    time_left = f", {timedelta(seconds=int(left))} left" if left else ""
    return plain(f"{task.description}: {task.completed:,.0f}{total}{rate}{time_left}")


def progress() -> Progress:
    """Return a progress bar: items, items a second, time left."""
    screen = error_console()
    return _Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        console=screen,
        disable=not screen.is_terminal,
        speed_estimate_period=10,
    )
