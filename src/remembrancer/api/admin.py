"""The audit log, jobs, API keys, usage and retention: each below /api, by its name."""

from datetime import date
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query

from remembrancer.api.dependencies import App, Caller, Paging, narrowed
from remembrancer.api.endpoints import Router
from remembrancer.api.erasure import DryRun
from remembrancer.audit.schemas import AuditFilter, AuditLine
from remembrancer.jobs.schemas import JobPage, JobStatus
from remembrancer.keys.schemas import Key, KeyCreate, KeyHolder, KeyRotation, NewKey
from remembrancer.paging import Items, Page
from remembrancer.retention.schemas import RetentionReport
from remembrancer.usage.schemas import DailyUsage

audit = Router(prefix="/api/audit", tags=["audit"])
jobs = Router(prefix="/api/jobs", tags=["jobs"])
keys = Router(prefix="/api/keys", tags=["keys"])
usage = Router(prefix="/api/usage", tags=["usage"])
retention = Router(prefix="/api/retention", tags=["retention"])

KeyRef = Annotated[str, Path(description="Its id, or the name of a valid key.")]

_ROTATION = KeyRotation()


class AuditQuery(AuditFilter):
    """Filters of the audit log, and the page."""

    limit: Annotated[int, Query(ge=1, le=200)] = 50
    cursor: Annotated[str | None, Query(max_length=1000)] = None


@audit.get("")
async def read_audit_log(
    app: App, actor: Caller, query: Annotated[AuditQuery, Query()]
) -> Page[AuditLine]:
    """List who read or changed which ids: all for admins, a user's own for others.

    A service names the user it acts for as `user_id`. Reading by an admin is logged too.
    """
    filters = narrowed(query, AuditFilter)
    return await app.audit.list(actor, filters, limit=query.limit, cursor=query.cursor)


@jobs.get("")
async def list_jobs(
    app: App,
    actor: Caller,
    page: Paging,
    status: Annotated[JobStatus | None, Query(description="Only jobs with this status.")] = None,
) -> JobPage:
    """List background jobs, the newest first, with the number of jobs by status."""
    page_of_jobs = await app.jobs.list(actor, status=status, **page)
    counts = await app.jobs.counts(actor)
    return JobPage(items=page_of_jobs.items, next_cursor=page_of_jobs.next_cursor, counts=counts)


@jobs.post("/{job_id}/retry", status_code=204)
async def retry_job(app: App, actor: Caller, job_id: int) -> None:
    """Queue a failed job again, or run a job that waits for its next attempt now."""
    await app.jobs.retry(actor, job_id)


@keys.post("", status_code=201)
async def create_key(app: App, actor: Caller, key: KeyCreate) -> NewKey:
    """Create a key; a user their own. Only this response has its secret."""
    return await app.keys.create(actor, key)


@keys.get("")
async def list_keys(app: App, actor: Caller) -> Items[Key]:
    """List all keys, or the user's own, without their secrets."""
    return await app.keys.list(actor)


@keys.get("/own")
async def get_own_key(actor: Caller) -> KeyHolder:
    """Return the role and user of the key of this request. For all roles."""
    return KeyHolder(role=actor.role, user_id=actor.user_id)


@keys.delete("/{key:path}")
async def revoke_key(app: App, actor: Caller, key: KeyRef) -> Key:
    """Revoke a key. It stops working at once."""
    return await app.keys.revoke(actor, key)


@keys.post("/{key:path}/rotate", status_code=201)
async def rotate_key(
    app: App,
    actor: Caller,
    key: KeyRef,
    rotation: KeyRotation = _ROTATION,
) -> NewKey:
    """Replace a valid key with a new one of its name, role, user and expiry.

    Only this response has the new secret. The name of the old key ends in "(old)".
    """
    return await app.keys.rotate(actor, key, grace=rotation.grace)


@usage.get("")
async def list_usage(
    app: App,
    actor: Caller,
    since: Annotated[date | None, Query(description="First day, in UTC.")] = None,
    until: Annotated[date | None, Query(description="Last day, in UTC. By default today.")] = None,
    agent_id: Annotated[UUID | None, Query(description="Only what this agent did.")] = None,
) -> Items[DailyUsage]:
    """List recalls, writes, refusals, evictions, tokens and disk by day and agent.

    By default of the last 30 days.
    """
    return await app.usage.list(actor, since=since, until=until, agent_id=agent_id)


@retention.post("")
async def run_retention(app: App, actor: Caller, dry_run: DryRun = True) -> RetentionReport:
    """Say what is stored how long and count what is older, or remove that for good."""
    return await app.retention.run(actor, dry_run=dry_run)
