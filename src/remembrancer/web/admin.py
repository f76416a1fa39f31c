"""Admin pages: policy, statistics, API keys, audit log, jobs."""

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
from remembrancer.validation import validate
from remembrancer.web import dependencies

router = APIRouter(prefix="/admin")

_AUDIT_FIELDS = ("user_id", "actor_user_id", "action", "target_id", "outcome", "entry_point")
_MAX_KEY_DAYS = 3650


@router.get("")
async def overview(request: dependencies.AdminRequest) -> Response:
    app = request.app
    start = time.perf_counter()
    await app.database.ping()
    milliseconds = round(1000 * (time.perf_counter() - start), 1)
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
async def set_policy(
    request: dependencies.SessionRequest, form: dependencies.CheckedForm
) -> Response:
    allow = {"true": True, "false": False}.get(form.get("allow") or "")
    if allow is None:
        raise InvalidInput("must be true or false", field="allow")
    policy = PolicyUpdate(allow_agent_specific_memory_globally=allow)
    await request.app.policies.set(request.actor, policy)
    return request.to(
        "",
        "Agent-specific memory is allowed again. Preferences apply as before."
        if allow
        else "Agent-specific memory is off: every agent is global for everybody.",
    )


@router.get("/keys")
async def list_keys(request: dependencies.SessionRequest) -> Response:
    return await _render_keys(request)


async def _render_keys(
    request: dependencies.PageRequest,
    *,
    form: dependencies.Form | None = None,
    error: RemembrancerError | None = None,
    new_key: NewKey | None = None,
) -> Response:
    return request.render(
        "admin/keys.html",
        error=error,
        keys=(await request.app.keys.list(request.actor)).items,
        roles=list(Role),
        form=form or dependencies.Form(),
        new_key=new_key,
    )


@router.post("/keys")
@dependencies.shows_errors(_render_keys)
async def create_key(
    form: dependencies.CheckedForm, request: dependencies.AdminRequest
) -> Response:
    values: dict[str, Any] = form.values("name", "role", "user_id")
    if days := form.get("days"):
        values["expires_at"] = _in_days(days)
    key = await request.app.keys.create(request.actor, validate(KeyCreate, **values))
    return await _render_keys(request, new_key=key)


def _in_days(days: str) -> datetime:
    is_number = days.isascii() and days.isdigit() and len(days) < 5
    if not is_number or not 0 < int(days) <= _MAX_KEY_DAYS:
        raise InvalidInput(f"must be from 1 to {_MAX_KEY_DAYS:,} days", field="days")
    return datetime.now(UTC) + timedelta(days=int(days))


@router.post("/keys/{key_id}/revoke", dependencies=[dependencies.FORM_CHECK])
async def revoke_key(request: dependencies.SessionRequest, key_id: UUID) -> Response:
    key = await request.app.keys.revoke(request.actor, key_id)
    return request.to("keys", f"The key {key.name} is revoked.")


@router.get("/audit")
async def audit_log(request: dependencies.AdminRequest, cursor: str | None = None) -> Response:
    error: RemembrancerError | None = None
    page = None
    try:
        filters = validate(AuditFilter, **dependencies.non_empty(request.query, *_AUDIT_FIELDS))
        page = await request.app.audit.list(request.actor, filters, limit=50, cursor=cursor)
    except RemembrancerError as caught:
        error = caught
    more = request.next_page(page.next_cursor) if page else None
    return request.render(
        "admin/audit.html", error=error, page=page, query=request.query, more=more
    )


@router.get("/jobs")
async def list_jobs(
    request: dependencies.SessionRequest, status: str = "", cursor: str | None = None
) -> Response:
    if status and status not in set(JobStatus):
        raise InvalidInput(f"must be one of {', '.join(JobStatus)}", field="status")
    selected = JobStatus(status) if status else None
    jobs = request.app.jobs
    return request.render(
        "admin/jobs.html",
        page=await jobs.list(request.actor, status=selected, limit=50, cursor=cursor),
        numbers=await jobs.counts(request.actor),
        selected=selected,
        statuses=list(JobStatus),
    )


@router.post("/jobs/{job_id}/retry", dependencies=[dependencies.FORM_CHECK])
async def retry_job(request: dependencies.SessionRequest, job_id: int) -> Response:
    await request.app.jobs.retry(request.actor, job_id)
    return request.to("jobs", "The job is queued.")
