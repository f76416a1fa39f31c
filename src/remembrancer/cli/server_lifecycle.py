"""Starts and stops the server of ``serve``."""

import asyncio
import shlex
import socket
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer
from pydantic_core import to_json

from remembrancer import version
from remembrancer.api import create_app
from remembrancer.app import Remembrancer, at_embedded_server
from remembrancer.cli.admin_key import ensure_admin_key
from remembrancer.cli.http_server import QuietServer, StopSignals
from remembrancer.cli.output import contents
from remembrancer.cli.runtime import ADMIN
from remembrancer.cli.workers import keep_worker, load_and_follow
from remembrancer.sanitizer import visible_line
from remembrancer.settings import Settings
from remembrancer.statistics import Counts, counts
from remembrancer.users.schemas import User

_STALE = ": no admin key any more; remove the file and start again to get a new one"
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - an address to connect to, not to bind


async def until_stopped(
    settings: Settings,
    listener: socket.socket,
    shared: Path | None,
    database: Future[str] | None,
    *,
    with_sample: bool,
) -> None:
    signals = StopSignals()
    signals.install()
    try:
        if database is not None:
            settings = at_embedded_server(settings, await asyncio.wrap_future(database))
        async with Remembrancer.open(settings=settings) as app:
            await _serve(app, listener, shared, signals, with_sample=with_sample)
    except asyncio.CancelledError:
        return  # stopped by a signal during the start
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None  # of the rest of the start


async def _serve(
    app: Remembrancer,
    listener: socket.socket,
    shared: Path | None,
    signals: StopSignals,
    *,
    with_sample: bool,
) -> None:
    key_file, key_valid = await ensure_admin_key(app)
    if with_sample:
        from remembrancer import sample  # noqa: PLC0415 - not at other starts

        await sample.fill(app)
    server_app = create_app(app, shared)
    signals.server = server = QuietServer(server_app)

    async def complete_start() -> None:
        await server.answers.wait()
        from remembrancer.importers.uploads import serve_uploads  # noqa: PLC0415 - it answers

        serve_uploads(app)
        app.host.prepare = serve_uploads
        jobs = app.working() if app.settings.jobs.in_server else nullcontext()
        async with jobs, asyncio.TaskGroup() as others:
            for _ in range(app.settings.server.workers - 1):
                assert shared is not None
                others.create_task(keep_worker(app.settings, app.database.url, listener, shared))
            welcome = Welcome(
                address=_address(app.settings, listener),
                login=f"/login?token={await app.sign_ins.link(ADMIN)}",
                key_file=key_file,
                key_valid=key_valid,
                counts=await counts(app.database),
                question=await _question(app),
            )
            welcome.show()
            await load_and_follow(app.embedder, shared)
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        rest = group.create_task(complete_start())
        await server.serve(sockets=[listener])
        rest.cancel()


def _address(settings: Settings, listener: socket.socket) -> str:
    if settings.server.public_url:
        return settings.server.public_url.rstrip("/")
    host = settings.server.host
    name = ANYWHERE.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{listener.getsockname()[1]}"


async def _question(app: Remembrancer) -> tuple[User, str] | None:
    from remembrancer import sample  # noqa: PLC0415 - the server answers meanwhile

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
    key_valid: bool
    counts: Counts
    question: tuple[User, str] | None

    def show(self) -> None:
        name = typer.style("Remembrancer", bold=True)
        typer.echo(f"{name} {version.__version__} is ready. Ctrl-C stops it.\n")
        for name, value in self._facts():
            typer.echo(f"  {typer.style(f'{name:9}', dim=True)}  {value}")
        typer.echo(f"\n{visible_line(self._invitation())}\n{self.curl}")

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("Address", self.address),
            ("Sign in", f"{self.address}{self.login}  (once, within 15 minutes)"),
            ("Admin key", f"in {self.key_file}{'' if self.key_valid else _STALE}"),
            ("Holds", contents(self.counts)),
        ]

    def _invitation(self) -> str:
        if self.question is None:
            return "Try it: open the sign-in link, or create a first user."
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
