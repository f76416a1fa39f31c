"""Look at the queue. For admins."""

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.db.engine import Database
from remembrancer.errors import Conflict, InvalidInput, NotFound
from remembrancer.ids import SHARED_OWNER
from remembrancer.jobs import queue
from remembrancer.jobs.schemas import Job, JobCounts, JobStatus
from remembrancer.paging import LARGEST_PAGE, Page
from remembrancer.text import check_range, from_cursor, to_cursor


class Jobs:
    """What is queued, what runs, what failed and why."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self, actor: Actor) -> JobCounts:
        """Return how many jobs are in which state."""
        actor.require(Role.ADMIN)
        async with self._database.system() as connection:
            rows = await queue.count(connection)
        found = JobCounts(retrying=sum(row.retrying for row in rows))
        for row in rows:
            name = queue.STATUSES[row.status]
            setattr(found, name, getattr(found, name) + row.jobs)
        return found

    async def list(
        self,
        actor: Actor,
        *,
        status: JobStatus | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page[Job]:
        """Return jobs, newest first; those in one state if asked. Ended ones go after a while."""
        actor.require(Role.ADMIN)
        check_range(limit, 1, LARGEST_PAGE, field="limit")
        wanted = [theirs for theirs, ours in queue.STATUSES.items() if ours == status]
        async with self._database.system() as connection:
            rows = await queue.page(connection, limit, _before(cursor), wanted)
        items = [
            Job.model_validate(
                {**row._mapping, "status": queue.STATUSES[row.status], "counts": row.counts or {}}
            )
            for row in rows[:limit]
        ]
        more = len(rows) > limit
        return Page(items=items, next_cursor=to_cursor(str(items[-1].id)) if more else None)

    async def retry(self, actor: Actor, job_id: int) -> None:
        """Queue the work of a failed job anew, or let one that waits for its next try run now.

        Raises ``NotFound`` for an unknown job, and ``Conflict`` for one that neither failed nor
        waits, or whose work is queued already.
        """
        actor.require(Role.ADMIN)
        async with self._database.system_for(actor) as (connection, actor):
            row = await queue.find(connection, job_id) if 0 < job_id < 2**63 else None
            if row is None:
                raise NotFound("no such job", field="job_id")
            status = queue.STATUSES[row.status]
            if status == JobStatus.QUEUED:
                await queue.hasten(connection, job_id)
            elif status != JobStatus.FAILED:
                raise Conflict("the job neither failed nor waits", field="job_id")
            elif await queue.again(connection, job_id) is None:
                raise Conflict("its work is queued already", field="job_id")
            await audit.note(connection, actor, "job.retry", [str(job_id)], owner_id=SHARED_OWNER)


def _before(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    [position] = from_cursor(cursor, 1)
    if not (position.isascii() and position.isdigit() and len(position) < 19):
        raise InvalidInput("is not a cursor from an earlier answer", field="cursor")
    return int(position)
