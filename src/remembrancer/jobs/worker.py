"""The worker: runs jobs from the queue until it is stopped."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol

import psycopg
from procrastinate import App, BaseRetryStrategy, JobContext, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException, JobAborted
from procrastinate.jobs import Job
from psycopg.rows import DictRow
from sqlalchemy import make_url

from remembrancer.db.engine import Database
from remembrancer.db.failures import translate
from remembrancer.db.urls import APP_ROLE, liveness
from remembrancer.errors import DatabaseUnavailable, Deadlock, WorkspaceMoved
from remembrancer.jobs import queue
from remembrancer.jobs.failures import JobFailed, reason_of
from remembrancer.periodic import Periodic
from remembrancer.settings import JobSettings
from remembrancer.telemetry.ids import bound
from remembrancer.telemetry.spans import span

log = logging.getLogger(__name__)

Task = Callable[..., Awaitable[Mapping[str, int]]]
"""Runs a job, given its ids; returns counts of its results."""


class Sweep(Protocol):
    """Queues missing jobs."""

    async def __call__(self, *, everything: bool) -> int:
        """Return how many were queued: of all work, or of failed jobs only."""


GRACE: Final = 2.0
"""Seconds that running jobs get to finish when the worker stops; then they are requeued."""
SILENT_BEATS: Final = 4
"""Heartbeats that a worker may miss before its jobs are requeued."""
FULL_SWEEP: Final = 3600.0
"""Seconds between sweeps that look at all work."""
_SETTINGS: Final = (
    f"SELECT set_config('role', '{APP_ROLE}', true), set_config('app.role', 'system', true),"
    " set_config('timezone', 'UTC', true), set_config('search_path', 'jobs', true)"
)
"""Role and time zone of the service, and the schema of the queue, which users cannot write."""
_LOSSES: Final = (
    ConnectorException,
    DatabaseUnavailable,
    Deadlock,
    WorkspaceMoved,
    psycopg.OperationalError,
)
"""What the database does to a worker: none of it ends one."""
LOST_DATABASE: Final = 2.0
"""Seconds until a worker that lost the database tries again, and that it waits for a connection.

When it stops it asks for several, one after the other.
"""


class Backoff(BaseRetryStrategy):
    """Try again after 1, 2, 4 … times the first wait; at once after a stop."""

    def __init__(self, first_wait: float, tries: int) -> None:
        self._first_wait = first_wait
        self._tries = tries

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """Return when to try again, or None to give up."""
        if isinstance(exception, asyncio.CancelledError | JobAborted):
            return RetryDecision(retry_in={"seconds": 0})
        if job.attempts + 1 >= self._tries:
            return None
        wait = min(self._first_wait * 2.0 ** min(job.attempts, 30), queue.LONGEST_WAIT)
        return RetryDecision(retry_in={"milliseconds": round(wait * 1000)})


class Connector(PsycopgConnector):
    """The queue's connections, whose settings are those of each transaction."""

    @asynccontextmanager
    async def _get_cursor(
        self, connection: psycopg.AsyncConnection | None = None
    ) -> AsyncIterator[psycopg.AsyncCursor[DictRow]]:
        async with super()._get_cursor(connection) as cursor:
            await cursor.execute(_SETTINGS)
            yield cursor


class Worker:
    """Runs ``tasks`` by their names, one job of a key at a time.

    It requeues the jobs of dead workers, and calls ``sweeps`` at its start and then regularly,
    so that a backlog drains without new writes. Each hour they look at all work.
    """

    def __init__(
        self,
        database: Database,
        settings: JobSettings,
        tasks: Mapping[str, Task],
        sweeps: Mapping[str, Sweep],
    ) -> None:
        self._database = database
        self._settings = settings
        self._tasks = tasks
        self._sweeps = sweeps
        self._swept = self._swept_all = 0.0
        self._turn: asyncio.Task[None] | None = None
        self._turn_ends = 0.0

    async def run(self, *, once: bool = False) -> None:
        """Work until cancelled, or with ``once`` until no job is ready.

        When cancelled, running jobs get two seconds to finish; then they are requeued. If the
        database is lost, the worker waits for it. After a deadlock it goes on at once.
        """
        while True:
            try:
                await self._run(once=once)
            except _LOSSES as error:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    # The worker was stopped as it lost the connection.
                    raise asyncio.CancelledError from error
                if _is_deadlock(error):
                    log.warning("a deadlock undid what the worker began; it begins again")
                    continue
                if once:
                    raise DatabaseUnavailable("the database does not answer") from error
                log.warning("the worker lost the database (%s)", reason_of(error))
            if once:
                return
            await asyncio.sleep(LOST_DATABASE)

    async def turn(self, seconds: float, *, sweep: bool) -> bool:
        """Run jobs that are ready, one by one, for so many seconds: what runs then is finished.

        With ``sweep`` it first does what :meth:`run` does regularly. Returns whether the time was
        up before the work.
        """
        if sweep:
            await self._maintain(sweep=True, everything=True)
        async with self._database.system() as connection:
            if not await queue.is_due(connection, list(self._tasks)):
                return False
        self._turn_ends = time.monotonic() + seconds
        self._turn = asyncio.create_task(self._work(once=True, concurrency=1), name="turn")
        try:
            await self._turn
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                self._turn.cancel()
                with suppress(asyncio.CancelledError):
                    await self._turn
                raise
            return True
        else:
            return False
        finally:
            self._turn = None

    def _end_turn(self) -> None:
        if self._turn is not None and time.monotonic() > self._turn_ends:
            self._turn.cancel()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.run(), name="worker")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self, *, once: bool) -> None:
        self._swept = self._swept_all = time.monotonic()
        await self._maintain(sweep=True, everything=True)
        await self._work(once=once, concurrency=self._settings.concurrency)

    async def _work(self, *, once: bool, concurrency: int) -> None:
        app = self._app(concurrency)
        # What a pooler is told to listen for reaches nobody.
        listens = not await self._database.is_pooled()
        async with app.open_async():
            maintenance = Periodic(
                self._maintain_again,
                every=self._settings.heartbeat,
                what="maintenance of the queue",
            )
            maintenance.start()
            try:
                await app.run_worker_async(
                    # Another process may know other tasks.
                    queues=list(self._tasks),
                    name="remembrancer",
                    wait=not once,
                    listen_notify=listens,
                    concurrency=concurrency,
                    install_signal_handlers=False,
                    shutdown_graceful_timeout=GRACE,
                    fetch_job_polling_interval=min(self._settings.heartbeat, 2.0),
                    update_heartbeat_interval=self._settings.heartbeat,
                    stalled_worker_timeout=self._silent,
                )
            finally:
                await maintenance.stop()

    @property
    def _silent(self) -> float:
        return self._settings.heartbeat * SILENT_BEATS

    async def _maintain_again(self) -> None:
        now = time.monotonic()
        sweep = now - self._swept >= self._settings.sweep
        everything = sweep and now - self._swept_all >= FULL_SWEEP
        self._swept = now if sweep else self._swept
        self._swept_all = now if everything else self._swept_all
        await self._maintain(sweep=sweep, everything=everything)

    async def _maintain(self, *, sweep: bool, everything: bool) -> None:
        async with self._database.system() as connection:
            lost = await queue.recover(connection, self._silent)
        if lost:
            log.warning("requeued %d jobs of dead workers", len(lost))
        for name, queue_missing in self._sweeps.items() if sweep else ():
            if queued := await queue_missing(everything=everything):
                log.info("queued %d %s jobs", queued, name)

    def _app(self, concurrency: int) -> App:
        url = make_url(self._database.url).set(drivername="postgresql")
        connector = Connector(
            conninfo=url.render_as_string(hide_password=False),
            kwargs={**liveness(self._database.url), "prepare_threshold": None},
            min_size=1,
            max_size=concurrency + 2,
            timeout=LOST_DATABASE,
        )
        app = App(connector=connector)
        logging.getLogger("procrastinate.worker").addFilter(_is_unknown_failure)
        backoff = Backoff(self._settings.first_wait, self._settings.tries)
        for name, task in self._tasks.items():
            app.task(name=name, queue=name, pass_context=True, retry=backoff)(
                self._run_and_note(task)
            )
        return app

    def _run_and_note(self, task: Task) -> Callable[..., Awaitable[None]]:
        async def run(context: JobContext, **ids: Any) -> None:
            job = context.job
            try:
                with bound(job_id=str(job.id), job=job.task_name), span("job") as running:
                    running.title = f"job {job.task_name}"
                    counts = await task(**ids)
            except Exception as error:
                reason = reason_of(error)
                log.warning("job %s (%s) failed: %s", job.id, job.task_name, reason)
                await self._note(job, reason, getattr(error, "counts", {}))
                # The error itself may quote users, and procrastinate logs it.
                raise JobFailed(reason) from None
            else:
                await self._note(job, None, counts)
            finally:
                self._end_turn()

        return run

    async def _note(self, job: Job, reason: str | None, counts: Mapping[str, int]) -> None:
        assert job.id is not None
        # A lost outcome must not fail the job.
        with suppress(DatabaseUnavailable):
            async with self._database.system() as connection:
                await queue.note(connection, job.id, reason, counts)


def _is_deadlock(error: Exception) -> bool:
    # The queue's errors are those of the driver in a wrapper.
    cause = error.__cause__ if isinstance(error, ConnectorException) else error
    return isinstance(cause, Exception) and isinstance(translate(cause), Deadlock)


def _is_unknown_failure(record: logging.LogRecord) -> bool:
    # Our own line has the failure and its reason.
    return getattr(record, "action", "") not in {"job_error", "job_error_retry"}
