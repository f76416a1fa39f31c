"""``backup`` and ``restore``: the whole store in one file, and back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from remembrancer.app import embedded_server
from remembrancer.backup import Archive, Manifest
from remembrancer.backup import back_up as write
from remembrancer.backup import restore as put_back
from remembrancer.cli.output import console, progress
from remembrancer.cli.runtime import log_to_stderr, settings_of
from remembrancer.errors import ConfigurationError
from remembrancer.settings import Settings


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to write it.")],
    replace: Annotated[bool, typer.Option("--replace", help="Even if the file exists.")] = False,
) -> None:
    """Write the whole store to a file, as it is at this moment. Servers may go on meanwhile.

    It holds all that people said, and is not encrypted; its mode is 0600.
    """
    with _database(settings_of(context), must_exist=True) as url, progress() as bar:
        on_start, on_progress = _shown(bar, "Rows")
        manifest = write(url, file, replace=replace, on_start=on_start, progress=on_progress)
    console().print(f"{manifest.rows:,} rows written to {file}, {file.stat().st_size:,} bytes.")


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="What backup wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Even if the database holds a store: it is lost.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before replacing.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only see whether the file is whole; touch nothing.")
    ] = False,
) -> None:
    """Put a backup into an empty database, all of it or nothing. Stop servers and workers first."""
    if check:
        with Archive(file) as archive, progress() as bar:
            on_start, on_progress = _shown(bar, "Rows")
            on_start(archive.manifest.rows)
            archive.check(on_progress)
            console().print(f"{file} is whole. {_what(archive.manifest)}")
        return
    if replace and not yes:
        typer.confirm("Everything in the database is lost. Replace it?", abort=True, err=True)
    with _database(settings_of(context), must_exist=False) as url, progress() as bar:
        on_start, on_progress = _shown(bar, "Rows")
        manifest = put_back(url, file, replace=replace, on_start=on_start, progress=on_progress)
    console().print(f"{file} is restored. {_what(manifest)}")


def _what(manifest: Manifest) -> str:
    return (
        f"{manifest.rows:,} rows of {len(manifest.tables)} tables, as of "
        f"{manifest.created_at:%Y-%m-%d %H:%M} UTC, version {manifest.version}, "
        f"schema {manifest.revision}."
    )


def _shown(bar: Progress, what: str) -> tuple[Callable[[int], None], Callable[[int], None]]:
    task = bar.add_task(what, total=None)
    return (
        lambda total: bar.update(task, total=total),
        lambda count: bar.advance(task, count),
    )


@contextmanager
def _database(settings: Settings, *, must_exist: bool) -> Iterator[str]:
    """Yield the address of the database, neither opened nor migrated."""
    log_to_stderr("warning" if settings.log_level == "info" else settings.log_level)
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    folder = settings.data_dir.expanduser()
    if must_exist and not (folder / "postgres").exists():
        raise ConfigurationError(f"there is no database in {folder}")
    with embedded_server(settings) as server:
        yield server.start()
