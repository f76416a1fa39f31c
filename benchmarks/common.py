"""Shared parts of the benchmarks: stores, percentiles, tables and result files."""

import json
import platform
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from remembrancer import Remembrancer, Settings, __version__
from remembrancer.app import database_server
from remembrancer.db.engine import Database
from remembrancer.db.migrate import migrate
from remembrancer.db.urls import driver_url
from remembrancer.embeddings import Embedder, create_embedder
from remembrancer.search.model import claim_store
from remembrancer.settings import BudgetSettings

RESULTS = Path(__file__).parent / "results"
console = Console()

DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        help="A scratch Postgres 16+ with pgvector to measure on. It is written to. "
        "Without it, an embedded row in a temporary directory."
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Small sizes, for under a minute.")]


@asynccontextmanager
async def store(
    database_url: str | None,
    *,
    wrap: Callable[[Embedder], Embedder] = lambda embedder: embedder,
    settings: Settings | None = None,
) -> AsyncIterator[Remembrancer]:
    """Open a store like ``Remembrancer.open``, with ``wrap`` around the embedder."""
    async with AsyncExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        settings_used = (settings or Settings()).model_copy(
            update={
                # The benchmarks need thousands of memories per user.
                "budget": BudgetSettings(tokens=0),
                "data_dir": Path(scratch),
                "database_url": SecretStr(database_url) if database_url else None,
            }
        )
        url = await stack.enter_async_context(database_server(settings_used))
        migrate(driver_url(url))
        embedder = wrap(create_embedder(settings_used.embedding))
        stack.push_async_callback(embedder.close)
        database = Database(url, pool_size=settings_used.database.pool_size)
        stack.push_async_callback(database.close)
        await claim_store(database, embedder)
        yield Remembrancer(settings_used, database, embedder)


def mean(values: Sequence[float]) -> float:
    """Return the mean, or 0 without values."""
    return sum(values) / len(values) if values else 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value at a share (0 to 1) of the sorted values."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def progress() -> Progress:
    """Return a progress bar that disappears at the end."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; the first column is text, the others numbers."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(
            column, justify="right" if number else "left", no_wrap=bool(number), overflow="fold"
        )
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console.print(table)


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def write(name: str, result: Mapping[str, Any]) -> Path:
    """Write a result with version and machine, and return the file."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    context = {
        "version": __version__,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    path.write_text(json.dumps({**context, **result}, indent=1) + "\n", encoding="utf-8")
    console.print(f"[dim]written to {path}[/dim]")
    return path
