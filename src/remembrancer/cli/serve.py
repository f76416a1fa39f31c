"""``serve``: the HTTP server."""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from remembrancer.cli.runtime import run, settings_of, starting_database
from remembrancer.errors import ConfigurationError
from remembrancer.extras import extra
from remembrancer.fast_imports import share_one_heap, uncollected
from remembrancer.telemetry.logs import log_to_stderr

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the directory in it is private
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that makes counters of all processes one. It is read at import."""


def serve(
    context: typer.Context,
    host: Annotated[
        str | None,
        typer.Option(
            help="Address to listen at; 0.0.0.0 lets the network connect.",
            show_default="127.0.0.1, this machine alone",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port to listen at; 0 takes a free one.", show_default="8420"
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="Processes that answer, each on a core.", show_default="1"
        ),
    ] = None,
    with_sample: Annotated[
        bool, typer.Option("--sample", help="Add sample data, if there are no users yet.")
    ] = False,
    public_url: Annotated[
        str | None, typer.Option(help="Address that people see, if there is a proxy before it.")
    ] = None,
) -> None:
    """Start a server: REST API, web pages and MCP. Ctrl-C stops it.

    It prints its address, a link to sign in with a browser, and where the admin key is.

    Examples:
      remembrancer serve
      remembrancer serve --port 9000 --sample
      remembrancer serve --host 0.0.0.0 --workers 4
    """
    settings = settings_of(context)
    if settings.workspace != "default":
        raise ConfigurationError("a server serves all workspaces; leave the workspace out")
    options = {"host": host, "port": port, "public_url": public_url, "workers": workers}
    server = settings.server.model_copy(update={k: v for k, v in options.items() if v is not None})
    settings = settings.model_copy(update={"server": server})
    log_to_stderr(settings.log_level, settings.log_format)
    share_one_heap()
    # The imports take a second, in which Postgres starts.
    with (
        extra("server", "fastapi"),
        bind(server.host, server.port) as listener,
        shared_directory(server.workers) as shared,
        starting_database(settings) as database,
    ):
        with uncollected():
            from remembrancer.cli.server_lifecycle import until_stopped  # noqa: PLC0415

        work = until_stopped(settings, listener, shared, database, with_sample=with_sample)
        run(work, serves=True)


@contextmanager
def shared_directory(workers: int) -> Iterator[Path | None]:
    """Yield a directory for what several processes share, for as long as they run."""
    if workers == 1:
        yield None
        return
    if sys.platform == "win32":
        raise ConfigurationError("several workers need Linux or macOS; use --workers 1")
    place = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="remembrancer-workers-", dir=place) as name:
        os.environ[_METRICS] = name
        try:
            yield Path(name)
        finally:
            del os.environ[_METRICS]


def bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        advice = "; choose another with --port, or 0 for any free one" if port else ""
        reason = (error.strerror or str(error)).lower()
        raise ConfigurationError(f"cannot listen at {host}:{port}: {reason}{advice}") from error
    return listener
