"""The queue, for admins."""

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.db.retries import retries_deadlocks
from remembrancer.errors import Conflict, NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.jobs import queue
from remembrancer.jobs.schemas import Job, JobStatus, JobTotals
from remembrancer.paging import LARGEST_PAGE, Page, PageMethod
from remembrancer.text import check_range


@retries_deadlocks
class Jobs:
    """Queued, running and ended jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self, actor: Actor) -> JobTotals:
        """Return the number of jobs by status. For admins."""
        actor.require(Role.ADMIN)
        async with self._database.system() as connection:
            rows = await queue.count(connection)
        numbers = dict.fromkeys(queue.STATUSES.values(), 0)
        for row in rows:
            numbers[queue.STATUSES[row.status]] += row.jobs
        return JobTotals(
            **numbers,
            retrying=sum(row.retrying for row in rows),
            oldest_seconds=max((row.oldest for row in rows), default=0.0),
        )

    @PageMethod
    async def list(
        self,
        actor: Actor,
        *,
        status: JobStatus | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Job]:
        """Return a page of jobs, newest first, in one status if given. For admins.

        ``limit`` is 1 to 200. They are stored as long as ``retention.jobs`` and
        ``retention.failed_jobs`` say.
        """
        actor.require(Role.ADMIN)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        statuses = [theirs for theirs, ours in queue.STATUSES.items() if ours == status]
        async with self._database.system() as connection:
            return await queue.page(connection, limit, cursor, statuses)

    async def retry(self, actor: Actor, job_id: int) -> None:
        """Queue the work of a failed job again, or run a waiting one now. For admins.

        Raises ``NotFound`` for an unknown job, and ``Conflict`` for one that neither failed nor
        waits, or whose work is queued already.
        """
        actor.require(Role.ADMIN)
        async with self._database.system_for(actor) as (connection, actor):
            status = await queue.status_of(connection, job_id) if 0 < job_id < 2**63 else None
            if status is None:
                raise NotFound("no such job", field="job_id")
            if status == JobStatus.QUEUED:
                await queue.run_now(connection, job_id)
            elif status != JobStatus.FAILED:
                raise Conflict("the job neither failed nor waits", field="job_id")
            elif await queue.repeat(connection, job_id) is None:
                raise Conflict("the same job is queued already", field="job_id")
            await audit.note(connection, actor, "job.retry", [str(job_id)], owner_id=SHARED_OWNER)
