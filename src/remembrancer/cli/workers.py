"""Processes that serve beside the first one, on its socket and with its database."""

import asyncio
import logging
import multiprocessing
import shutil
import signal
import socket
from contextlib import suppress
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead
from pydantic import SecretStr

from remembrancer.cli.http_server import GRACE_SECONDS, QuietServer, StopSignals
from remembrancer.cli.runtime import run
from remembrancer.embeddings import CachedQueries, Embedder
from remembrancer.fast_imports import (
    build_models_later,
    return_free_memory,
    share_one_heap,
    uncollected,
)
from remembrancer.settings import Settings
from remembrancer.telemetry.logs import log_to_stderr

log = logging.getLogger(__name__)

RESTART_SECONDS = 1.0
"""Seconds until a worker that ended is started again."""
FORGET_SECONDS = 1.0
"""Seconds in which all processes drop cached queries after an erasure in one."""


async def keep_worker(settings: Settings, url: str, listener: socket.socket, shared: Path) -> None:
    """Run a worker until cancelled; start another when it ends."""
    settings = settings.model_copy(update={"database_url": SecretStr(url)})
    while True:
        process = _start(settings, listener, shared)
        try:
            await _end_of(process)
        finally:
            process.terminate()
            await asyncio.to_thread(process.join, GRACE_SECONDS + 3)
            process.kill()
            mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
        log.warning("a worker ended with exit code %s; starting another", process.exitcode)
        await asyncio.sleep(RESTART_SECONDS)


def _start(settings: Settings, listener: socket.socket, shared: Path) -> BaseProcess:
    process = multiprocessing.get_context("spawn").Process(
        target=_work, args=(settings, listener, shared), daemon=True
    )
    # Ctrl-C reaches the whole group of processes; this one stops the others.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, handler)
    return process


async def _end_of(process: BaseProcess) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(process.sentinel, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(process.sentinel)


async def load_and_follow(embedder: Embedder, shared: Path | None) -> None:
    """Load the model; then forget queries whenever another process does, until cancelled."""
    if isinstance(embedder, CachedQueries):
        embedder.share(shared)
        await embedder.load()
        return_free_memory()
        while True:
            await asyncio.sleep(FORGET_SECONDS)
            embedder.follow()


def _work(settings: Settings, listener: socket.socket, shared: Path) -> None:
    """Serve until the first process stops this one, or ends itself."""
    log_to_stderr(settings.log_level, settings.log_format)
    share_one_heap()
    build_models_later()
    with uncollected():
        import_module("remembrancer.api")
    run(_serve(settings, listener, shared), serves=True)


async def _serve(settings: Settings, listener: socket.socket, shared: Path) -> None:
    from remembrancer.api import create_app  # noqa: PLC0415 - imported above
    from remembrancer.app import Remembrancer  # noqa: PLC0415

    signals = StopSignals()
    signals.install(signal.SIGTERM)
    loop, first = asyncio.get_running_loop(), multiprocessing.parent_process()
    assert first is not None

    def end_too() -> None:
        loop.remove_reader(first.sentinel)
        shutil.rmtree(shared, ignore_errors=True)
        signals.stop()

    loop.add_reader(first.sentinel, end_too)
    with suppress(asyncio.CancelledError):
        async with Remembrancer.open(settings=settings) as app, asyncio.TaskGroup() as group:
            signals.server = server = QuietServer(create_app(app, shared))
            rest = group.create_task(load_and_follow(app.embedder, shared))
            await server.serve(sockets=[listener])
            rest.cancel()
