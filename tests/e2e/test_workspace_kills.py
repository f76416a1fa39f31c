"""A process that creates, migrates and drops workspaces is killed at random moments."""

import asyncio
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE

import pytest
from helpers import ADMIN, rows
from test_workspaces import databases, host

from remembrancer import Remembrancer
from remembrancer.db import migrate
from remembrancer.db.urls import service_url

__all__ = ["host"]  # a fixture

AT_IT = """
import asyncio, sys
from itertools import count
from sqlalchemy import make_url
from remembrancer import Actor, Remembrancer, ResolveUser, Role, Settings, as_actor
from remembrancer.db import migrate

ADMIN = Actor(Role.ADMIN)
ADA = ResolveUser(platform="discord", platform_user_id="1", display_name="Ada")

def say(*words):
    print(*words, flush=True)

async def main(first):
    async with Remembrancer.open(settings=Settings()) as host:
        say("ready")
        for number in count():
            name = f"{first}-{number}"
            created = await host.workspaces.create(ADMIN, name)
            say("created", name)
            async with host.host.use(name) as store:
                await store.users.resolve(as_actor(), ADA)
            say("filled", name)
            host.host.forget(name)
            row = await host.host.find(name)
            owner = host.host.servers[row.server].owner_url_of(row.database)
            async with host.database.system() as connection:
                from remembrancer.workspaces import repository
                await repository.note_revision(connection, name, "0028")
            await asyncio.to_thread(migrate.downgrade, owner, "0028")
            await host.workspaces.migrate(ADMIN)
            if number % 2:
                await host.workspaces.suspend(ADMIN, name)
                say("dropping", name)
                await host.workspaces.drop(ADMIN, name, dry_run=False)
                say("dropped", name)

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("rounds", [3, pytest.param(30, marks=pytest.mark.soak)])
async def test_after_kill_9_each_workspace_is_whole_or_not_there(
    host: Remembrancer, database_url: str, rounds: int
) -> None:
    """What was acknowledged is so, each database has a row, and each row a database that works."""
    environment = {
        **os.environ,
        "REMEMBRANCER_DATABASE_URL": service_url(database_url),
        "REMEMBRANCER_DATABASE_OWNER_URL": database_url,
        "REMEMBRANCER_DATA_DIR": str(host.settings.data_dir),
    }
    # The blank database of this server is there.
    await host.workspaces.create(ADMIN, "tenant")
    moments = random.Random(9)
    said: list[list[str]] = []
    for number in range(rounds):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", AT_IT, f"tenant-{number}"), stdout=PIPE, env=environment
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        lines = b""
        for _ in range(moments.randint(0, 7)):
            lines += await process.stdout.readline()
        await asyncio.sleep(moments.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        lines += await process.stdout.read()
        said += [line.split() for line in lines.decode().splitlines()]
        await process.wait()
        # As if the time of its hold had passed.
        execute = "UPDATE workspaces SET held_until = now() - interval '1 second'"
        rows_of(execute)
        await host.workspaces.recover()
        await _check(host, said)
    assert len(said) > rounds


def rows_of(statement: str) -> list[tuple[str, ...]]:
    return [tuple(row) for row in rows(statement)]


async def _check(host: Remembrancer, said: list[list[str]]) -> None:
    known = dict(rows_of("SELECT name, state FROM workspaces"))
    by = {what: {name for word, name in said if word == what} for what in
          ("created", "filled", "dropping", "dropped")}  # fmt: skip
    assert by["created"] - by["dropping"] <= known.keys()
    assert not by["dropped"] & known.keys()
    assert set(known.values()) <= {"active", "suspended"}
    assert databases() == sorted(name for (name,) in rows_of("SELECT database FROM workspaces"))
    report = await host.workspaces.migrate(ADMIN)
    assert report.is_complete, report
    for name, state in known.items():
        if state == "suspended":
            await host.workspaces.resume(ADMIN, name)
        async with host.host.use(name) as store:
            people = [user.display_name for user in (await store.users.list(ADMIN)).items]
            assert people == (["Ada"] if name in by["filled"] else people)
            assert (await store.database.revision())[0] == migrate.newest()
