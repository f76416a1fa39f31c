"""Starts and stops the server of ``serve``."""

import asyncio
import shlex
import socket
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_core import to_json
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from remembrancer import sample, version
from remembrancer.app import Remembrancer
from remembrancer.cli.admin_key import ensure_admin_key
from remembrancer.cli.http_server import QuietServer, StopSignals, bind
from remembrancer.cli.output import console, plain
from remembrancer.cli.runtime import ADMIN
from remembrancer.fast_imports import return_free_memory, uncollected
from remembrancer.settings import Settings
from remembrancer.statistics import Counts, counts
from remembrancer.users.schemas import User

if TYPE_CHECKING:
    from fastapi import FastAPI

ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - an address to connect to, not to bind


async def until_stopped(settings: Settings, *, with_sample: bool) -> None:
    signals = StopSignals()
    signals.install()
    try:
        with bind(settings.server.host, settings.server.port) as listener:
            await _serve(settings, listener, signals, with_sample=with_sample)
    except asyncio.CancelledError:
        return  # stopped by a signal during the start


async def _serve(
    settings: Settings, listener: socket.socket, signals: StopSignals, *, with_sample: bool
) -> None:
    # Beside the start of the store: the routes take as long.
    importing = asyncio.ensure_future(asyncio.to_thread(_import_api))
    async with Remembrancer.open(settings=settings) as app:
        create_app = await importing
        key_file = await ensure_admin_key(app)
        if with_sample:
            await sample.fill(app)
        server_app = create_app(app)
        welcome = Welcome(
            address=_address(settings, listener),
            login=server_app.state.sessions.new_link(),
            key_file=key_file,
            counts=await counts(app.database),
            question=await _question(app),
        )
        server = QuietServer(server_app, ready=welcome.show)
        signals.server = server
        # After the first answers, and before somebody opens many pages.
        loop = asyncio.get_running_loop()
        loop.call_later(1.0, loop.run_in_executor, None, _compile_templates)
        async with app.worker.running() if settings.jobs.in_server else nullcontext():
            await server.serve(sockets=[listener])


def _import_api() -> "Callable[[Remembrancer], FastAPI]":
    with uncollected():
        from remembrancer.api import create_app  # noqa: PLC0415
    return create_app


def _compile_templates() -> None:
    from remembrancer.web.pages import compile_templates  # noqa: PLC0415

    compile_templates()
    return_free_memory()


def _address(settings: Settings, listener: socket.socket) -> str:
    if settings.server.public_url:
        return settings.server.public_url.rstrip("/")
    host = settings.server.host
    name = ANYWHERE.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{listener.getsockname()[1]}"


async def _question(app: Remembrancer) -> tuple[User, str] | None:
    first = sample.load().people[0].links[0]
    users = (await app.users.list(ADMIN, limit=50)).items
    for user in users:
        if first in user.platform_links:
            return user, sample.load().questions[0].query
    return (users[0], "What do you know about me?") if users else None


@dataclass(frozen=True)
class Welcome:
    address: str
    login: str
    key_file: Path
    counts: Counts
    question: tuple[User, str] | None

    def show(self) -> None:
        screen = console()
        screen.print(
            Text.assemble(
                ("Remembrancer", "bold"), f" {version.__version__} is ready.", " Ctrl-C stops it."
            )
        )
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim", no_wrap=True)
        facts.add_column(overflow="fold")
        for name, value in self._facts():
            facts.add_row(name, Text(value))
        screen.print(Padding(facts, (1, 0, 1, 2), expand=False))
        screen.print(plain(self._invitation()))
        # on one line, so that it can be copied
        screen.print(Text(self.curl), soft_wrap=True)

    def _facts(self) -> list[tuple[str, str]]:
        counts = self.counts
        return [
            ("Address", self.address),
            ("Sign in", f"{self.address}{self.login}  (once, within 15 minutes)"),
            ("Admin key", f"in {self.key_file}"),
            (
                "Holds",
                f"{counts.users:,} users, {counts.agents:,} agents, "
                f"{counts.memories:,} memories, {counts.messages:,} messages",
            ),
        ]

    def _invitation(self) -> str:
        if self.question is None:
            return "Try it: create a first user."
        user, query = self.question
        return f"Try it: ask, for {user.display_name}, “{query}”"

    @property
    def curl(self) -> str:
        path, body = self._request()
        return (
            f"curl -s {self.address}{path} "
            f'-H "Authorization: Bearer $(cat {shlex.quote(str(self.key_file))})" '
            f"-H 'Content-Type: application/json' -d {shlex.quote(to_json(body).decode())}"
        )

    def _request(self) -> tuple[str, dict[str, str]]:
        if self.question is None:
            user_request = {"platform": "telegram", "platform_user_id": "1", "display_name": "Ada"}
            return "/api/users/resolve", user_request
        user, query = self.question
        return "/api/memory/recall", {"user_id": str(user.id), "query": query}
