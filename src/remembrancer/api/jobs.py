"""Background jobs: /api/jobs. For admins."""

from typing import Annotated

from fastapi import Query

from remembrancer.api.dependencies import App, Caller, Paging
from remembrancer.api.endpoints import Router
from remembrancer.jobs.schemas import JobPage, JobStatus

router = Router(prefix="/api/jobs", tags=["jobs"])


@router.get("")
async def list_jobs(
    app: App,
    actor: Caller,
    page: Paging,
    status: Annotated[JobStatus | None, Query(description="Only jobs with this status.")] = None,
) -> JobPage:
    """List background jobs, the newest first, with the number of jobs by status."""
    jobs = await app.jobs.list(actor, status=status, **page)
    counts = await app.jobs.counts(actor)
    return JobPage(items=jobs.items, next_cursor=jobs.next_cursor, counts=counts)


@router.post("/{job_id}/retry", status_code=204)
async def retry_job(app: App, actor: Caller, job_id: int) -> None:
    """Queue a failed job again, or run a job that waits for its next attempt now."""
    await app.jobs.retry(actor, job_id)
