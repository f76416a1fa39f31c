"""``backup`` and ``restore``: the whole store in one file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from remembrancer.backup import Archive, Manifest, Observer
from remembrancer.backup import back_up as write
from remembrancer.backup import restore as load
from remembrancer.cli.exit_codes import REFUSED
from remembrancer.cli.output import console, error_console, plain, progress
from remembrancer.cli.runtime import log_quietly, run, settings_of
from remembrancer.db.embedded import embedded_server
from remembrancer.errors import ConfigurationError, InvalidInput, RemembrancerError
from remembrancer.ids import DEFAULT_WORKSPACE
from remembrancer.settings import Settings
from remembrancer.text import plural
from remembrancer.workspaces.host import names_with_content, owner_address


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The file to write; with --all a folder.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing file.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Every workspace, each in a file with its name.")
    ] = False,
) -> None:
    """Write everything to one file. Servers may keep running.

    The file is not encrypted. Only you can read it. If there are workspaces, it has the default
    one, or that of --workspace.

    Examples:
      remembrancer backup store.backup
      remembrancer backup --all backups
    """
    settings = settings_of(context)
    log_quietly(settings)
    with _server(settings, must_exist=True) as url:
        if not every:
            console().print(_write(settings, url, file, replace=replace))
            return
        if settings.workspace != DEFAULT_WORKSPACE:
            raise ConfigurationError("--all is for all workspaces; leave the workspace out")
        file.mkdir(mode=0o700, parents=True, exist_ok=True)
        failed = 0
        for name in run(names_with_content(settings, url)):
            of_one = settings.model_copy(update={"workspace": name})
            try:
                told = _write(of_one, url, file / f"{name}.backup", replace=replace)
            except (RemembrancerError, ConfigurationError) as error:
                failed += 1
                error_console().print(plain(f"{name}: {error}"), style="red")
            else:
                console().print(told)
    if failed:
        raise typer.Exit(REFUSED)


def _write(settings: Settings, url: str, file: Path, *, replace: bool) -> str:
    with progress() as bar:
        manifest = write(
            _of(settings, url),
            file,
            workspace=settings.workspace,
            replace=replace,
            observer=_observer(bar),
        )
    size = plural(file.stat().st_size, "byte")
    return f"{plural(manifest.rows, 'row')} written to {file}, {size}."


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file from `backup`.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace what is in the database. It is lost.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Restore nothing; check that the file is complete.")
    ] = False,
    of: Annotated[
        str, typer.Option("--of", help="The workspace that it is of.", show_default="the same")
    ] = "",
) -> None:
    """Read a backup into an empty database. Stop servers first.

    All of it is there in the end, or nothing. Stop workers too. The backup of another workspace is
    refused, unless --of names that.

    Examples:
      remembrancer restore store.backup --check
      remembrancer --data-dir ./elsewhere restore store.backup
    """
    if check:
        with Archive(file) as archive, progress() as bar:
            archive.check(_observer(bar))
            console().print(f"{file} is complete. {_describe(archive.manifest)}")
        return
    settings = settings_of(context)
    with Archive(file) as archive:
        _check_workspace(archive.manifest.workspace, of or settings.workspace, settings.workspace)
    if replace and not yes:
        typer.confirm(
            f"All data in the workspace {settings.workspace} will be lost."
            f" Replace it by that of {file}?",
            abort=True,
            err=True,
        )
    log_quietly(settings)
    with _server(settings, must_exist=False) as url, progress() as bar:
        # Servers let go of a suspended workspace within a second, again after each request to it.
        wait_seconds = 0 if settings.workspace == DEFAULT_WORKSPACE else 10
        manifest = load(
            _of(settings, url),
            file,
            replace=replace,
            wait_seconds=wait_seconds,
            observer=_observer(bar),
        )
    console().print(f"{file} is restored. {_describe(manifest)}")


def _check_workspace(has: str, wanted: str, target: str) -> None:
    if has != wanted:
        raise InvalidInput(
            f"is a backup of the workspace {has}; to restore it into {target} all the same:"
            f" --of {has}",
            field="file",
        )


def _describe(manifest: Manifest) -> str:
    return (
        f"{plural(manifest.rows, 'row')} of {plural(len(manifest.tables), 'table')} of the "
        f"workspace {manifest.workspace}, as of "
        f"{manifest.created_at:%Y-%m-%d %H:%M} UTC, version {manifest.version}, "
        f"schema {manifest.revision}."
    )


def _observer(bar: Progress) -> Observer:
    task = bar.add_task("Rows", total=None)
    return Observer(
        lambda total: bar.update(task, total=total), lambda count: bar.advance(task, count)
    )


def _of(settings: Settings, url: str) -> str:
    """Return the owner's address of the workspace of the settings; ``url`` is that of the host."""
    return url if settings.workspace == DEFAULT_WORKSPACE else run(owner_address(settings, url))


@contextmanager
def _server(settings: Settings, *, must_exist: bool) -> Iterator[str]:
    if settings.database_url is not None:
        yield (settings.database_owner_url or settings.database_url).get_secret_value()
        return
    folder = settings.data_dir.expanduser()
    if must_exist and not (folder / "postgres").exists():
        raise ConfigurationError(f"there is no database in {folder}; set another --data-dir")
    with embedded_server(settings) as server:
        yield server.start()
