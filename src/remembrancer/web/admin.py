"""What runs here, for admins: policy, numbers, keys, audit log, jobs, health."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.audit.schemas import AuditFilter
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.jobs.schemas import JobStatus
from remembrancer.keys.schemas import KeyCreate, NewKey
from remembrancer.preferences.schemas import PolicyUpdate
from remembrancer.statistics import counts
from remembrancer.validation import made
from remembrancer.web.dependencies import (
    FORM_CHECK,
    CheckedForm,
    Form,
    PageRequest,
    SessionRequest,
    non_empty,
)

router = APIRouter(prefix="/admin")

_AUDIT = ("user_id", "actor_user_id", "action", "target_id", "outcome", "entry_point")


@router.get("")
async def overview(request: SessionRequest) -> Response:
    """Show the policy, how scopes are used, and whether all is well."""
    request.actor.require(Role.ADMIN)
    app = request.app
    began = time.perf_counter()
    await app.database.ping()
    milliseconds = round(1000 * (time.perf_counter() - began), 1)
    return request.render(
        "admin/overview.html",
        policy=await app.policies.get(request.actor),
        statistics=await app.policies.statistics(request.actor),
        counts=await counts(app.database),
        jobs=await app.jobs.counts(request.actor),
        milliseconds=milliseconds,
        embedder=app.embedder,
        address=str(request.http.base_url).rstrip("/"),
        key_file=str(app.settings.data_dir.expanduser() / "admin.key"),
    )


@router.post("/policy")
async def set_policy(request: SessionRequest, form: CheckedForm) -> Response:
    """Allow or forbid agent-specific memory for everybody."""
    allow = {"true": True, "false": False}.get(form.get("allow") or "")
    if allow is None:
        raise InvalidInput("must be true or false", field="allow")
    wanted_ = PolicyUpdate(allow_agent_specific_memory_globally=allow)
    await request.app.policies.set(request.actor, wanted_)
    request.notify(
        "Agent-specific memory is allowed again; preferences count as before."
        if allow
        else "Agent-specific memory is off: every agent is global for everybody."
    )
    return request.redirect("/admin")


@router.get("/keys")
async def list_keys(request: SessionRequest) -> Response:
    """List API keys."""
    return await _keys(request)


async def _keys(
    request: PageRequest,
    *,
    form: Form | None = None,
    error: RemembrancerError | None = None,
    made_key: NewKey | None = None,
) -> Response:
    return request.render(
        "admin/keys.html",
        error.status if error else 200,
        keys=await request.app.keys.list(request.actor),
        roles=list(Role),
        form=form or Form([]),
        error=error,
        made_key=made_key,
    )


@router.post("/keys")
async def create_key(request: SessionRequest, form: CheckedForm) -> Response:
    """Make a key; its secret is on the page that answers, and nowhere else."""
    request.actor.require(Role.ADMIN)
    try:
        given: dict[str, Any] = form.values("name", "role", "user_id")
        if days := form.get("days"):
            given["expires_at"] = _in_days(days)
        key = await request.app.keys.create(request.actor, made(KeyCreate, **given))
    except RemembrancerError as error:
        return await _keys(request, form=form, error=error)
    return await _keys(request, made_key=key)


def _in_days(days: str) -> datetime:
    if not (days.isascii() and days.isdigit() and len(days) < 5 and 0 < int(days) <= 3650):
        raise InvalidInput("must be a number of days up to 3,650", field="days")
    return datetime.now(UTC) + timedelta(days=int(days))


@router.post("/keys/{key_id}/revoke", dependencies=[FORM_CHECK])
async def revoke_key(request: SessionRequest, key_id: UUID) -> Response:
    """Make a key worthless from now on."""
    key = await request.app.keys.revoke(request.actor, key_id)
    request.notify(f"The key {key.name} is revoked.")
    return request.redirect("/admin/keys")


@router.get("/audit")
async def audit_log(request: SessionRequest, cursor: str | None = None) -> Response:
    """Show who did what, the latest first."""
    request.actor.require(Role.ADMIN)
    query = request.query
    error: RemembrancerError | None = None
    page = None
    try:
        asked = made(AuditFilter, **non_empty(query, *_AUDIT))
        page = await request.app.audit.list(request.actor, asked, limit=50, cursor=cursor)
    except RemembrancerError as failed:
        error = failed
    more = None
    if page is not None and page.next_cursor:
        url = request.http.url.include_query_params(cursor=page.next_cursor)
        more = f"{url.path}?{url.query}"
    status = error.status if error else 200
    return request.render(
        "admin/audit.html", status, page=page, query=query, more=more, error=error
    )


@router.get("/jobs")
async def list_jobs(
    request: SessionRequest, status: str = "", cursor: str | None = None
) -> Response:
    """List background jobs, newest first, and how many are in which state."""
    if status and status not in set(JobStatus):
        raise InvalidInput("is no state of a job", field="status")
    chosen = JobStatus(status) if status else None
    page = await request.app.jobs.list(request.actor, status=chosen, limit=50, cursor=cursor)
    numbers = await request.app.jobs.counts(request.actor)
    return request.render(
        "admin/jobs.html", page=page, numbers=numbers, chosen=chosen, statuses=list(JobStatus)
    )


@router.post("/jobs/{job_id}/retry", dependencies=[FORM_CHECK])
async def retry_job(request: SessionRequest, job_id: int) -> Response:
    """Queue the work of a failed job anew, or run one now that waits for its next try."""
    await request.app.jobs.retry(request.actor, job_id)
    request.notify("Its work is in the queue.")
    return request.redirect("/admin/jobs")
