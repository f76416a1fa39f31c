"""Bring workspaces to the current schema. For admins of the host."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final, Generic, TypeVar

from remembrancer import audit
from remembrancer.access import Actor
from remembrancer.db.migrate import newest
from remembrancer.errors import ConfigurationError, Unavailable
from remembrancer.ids import SHARED_OWNER
from remembrancer.text import check_range
from remembrancer.workspaces import repository
from remembrancer.workspaces.holds import Holds
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.schemas import MigrationReport, MigrationResult

Store = TypeVar("Store")
MOST_AT_ONCE: Final = 64
"""Maximum of workspaces that are migrated side by side."""


class WorkspaceMigrations(Generic[Store]):
    """Migrations of the databases of workspaces."""

    def __init__(self, holds: Holds[Store]) -> None:
        self._holds = holds

    async def migrate(
        self,
        actor: Actor,
        *,
        canary: str | None = None,
        at_once: int = 4,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> MigrationReport:
        """Bring all workspaces to the current schema: first one, then the others side by side.

        If the first one fails, ``canary`` or the first by name, the others are left as they are.
        What fails later is reported, and stops no other. A repeated call goes on where this one
        ended. ``on_progress`` gets how many are done, and of how many. Each of the ``at_once`` is a
        process.
        """
        self._holds.require(actor, canary)
        check_range(at_once, 1, MOST_AT_ONCE, field="at_once")
        host = self._holds.host
        if canary is not None:
            await host.find(canary)
        async with self._holds.database.system() as connection:
            rows = await repository.to_migrate(connection, newest())
            await audit.note(
                connection, actor, "workspace.migrate", [newest()], owner_id=SHARED_OWNER
            )
        rows.sort(key=lambda row: row.name != canary)
        results: list[MigrationResult] = []
        free = asyncio.Semaphore(at_once)

        async def bring(row: WorkspaceRow, executor: Executor | None = None) -> None:
            reason = None
            async with free:
                try:
                    await host.migrate(row, executor)
                    host.forget(row.name)
                except (ConfigurationError, Unavailable) as error:
                    reason = str(error)
                except Exception as error:  # its text may quote data
                    reason = type(error).__name__
            results.append(MigrationResult(name=row.name, reason=reason))
            if on_progress is not None:
                on_progress(len(results), len(rows))

        for first in rows[:1]:
            await bring(first)
        if rows and results[0].reason is None:
            processes = min(at_once, len(rows) - 1) or 1
            executor = ProcessPoolExecutor(processes, get_context("spawn"))
            try:
                await asyncio.gather(*(bring(row, executor) for row in rows[1:]))
            finally:
                # It waits for its processes.
                await asyncio.to_thread(executor.shutdown, cancel_futures=True)
        results.sort(key=lambda result: result.name)
        complete = len(results) == len(rows) and all(each.reason is None for each in results)
        return MigrationReport(items=results, revision=newest(), is_complete=complete)
