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
from remembrancer.web.dependencies import Checked, Form, OurForm, PageRequest, SignedIn, wanted

router = APIRouter(prefix="/admin")

_AUDIT = ("user_id", "actor_user_id", "action", "target_id", "outcome", "entry_point")


@router.get("")
async def overview(here: SignedIn) -> Response:
    """Show the policy, how scopes are used, and whether all is well."""
    here.actor.require(Role.ADMIN)
    memory = here.memory
    began = time.perf_counter()
    await memory.database.ping()
    milliseconds = round(1000 * (time.perf_counter() - began), 1)
    return here.page(
        "admin/overview.html",
        policy=await memory.policies.get(here.actor),
        statistics=await memory.policies.statistics(here.actor),
        counts=await counts(memory.database),
        jobs=await memory.jobs.counts(here.actor),
        milliseconds=milliseconds,
        embedder=memory.embedder,
        address=str(here.request.base_url).rstrip("/"),
        key_file=str(memory.settings.data_dir.expanduser() / "admin.key"),
    )


@router.post("/policy")
async def set_policy(here: SignedIn, form: Checked) -> Response:
    """Allow or forbid agent-specific memory for everybody."""
    allow = {"true": True, "false": False}.get(form.get("allow") or "")
    if allow is None:
        raise InvalidInput("must be true or false", field="allow")
    wanted_ = PolicyUpdate(allow_agent_specific_memory_globally=allow)
    await here.memory.policies.put(here.actor, wanted_)
    here.say(
        "Agent-specific memory is allowed again; preferences count as before."
        if allow
        else "Agent-specific memory is off: every agent is global for everybody."
    )
    return here.done("/admin")


@router.get("/keys")
async def list_keys(here: SignedIn) -> Response:
    """List API keys."""
    return await _keys(here)


async def _keys(
    here: PageRequest,
    *,
    form: Form | None = None,
    error: RemembrancerError | None = None,
    made_key: NewKey | None = None,
) -> Response:
    return here.page(
        "admin/keys.html",
        error.status if error else 200,
        keys=await here.memory.keys.list(here.actor),
        roles=list(Role),
        form=form or Form([]),
        error=error,
        made_key=made_key,
    )


@router.post("/keys")
async def create_key(here: SignedIn, form: Checked) -> Response:
    """Make a key; its secret is on the page that answers, and nowhere else."""
    here.actor.require(Role.ADMIN)
    try:
        given: dict[str, Any] = form.given("name", "role", "user_id")
        if days := form.get("days"):
            given["expires_at"] = _in_days(days)
        key = await here.memory.keys.create(here.actor, made(KeyCreate, **given))
    except RemembrancerError as error:
        return await _keys(here, form=form, error=error)
    return await _keys(here, made_key=key)


def _in_days(days: str) -> datetime:
    if not (days.isascii() and days.isdigit() and len(days) < 5 and 0 < int(days) <= 3650):
        raise InvalidInput("must be a number of days up to 3,650", field="days")
    return datetime.now(UTC) + timedelta(days=int(days))


@router.post("/keys/{key_id}/revoke", dependencies=[OurForm])
async def revoke_key(here: SignedIn, key_id: UUID) -> Response:
    """Make a key worthless from now on."""
    key = await here.memory.keys.revoke(here.actor, key_id)
    here.say(f"The key {key.name} is revoked.")
    return here.done("/admin/keys")


@router.get("/audit")
async def audit_log(here: SignedIn, cursor: str | None = None) -> Response:
    """Show who did what, the latest first."""
    here.actor.require(Role.ADMIN)
    query = here.request.query_params
    error: RemembrancerError | None = None
    page = None
    try:
        asked = made(AuditFilter, **wanted(query, *_AUDIT))
        page = await here.memory.audit_log.list(here.actor, asked, limit=50, cursor=cursor)
    except RemembrancerError as failed:
        error = failed
    more = None
    if page is not None and page.next_cursor:
        url = here.request.url.include_query_params(cursor=page.next_cursor)
        more = f"{url.path}?{url.query}"
    status = error.status if error else 200
    return here.page("admin/audit.html", status, page=page, query=query, more=more, error=error)


@router.get("/jobs")
async def list_jobs(here: SignedIn, status: str = "", cursor: str | None = None) -> Response:
    """List background jobs, newest first, and how many are in which state."""
    if status and status not in set(JobStatus):
        raise InvalidInput("is no state of a job", field="status")
    chosen = JobStatus(status) if status else None
    page = await here.memory.jobs.list(here.actor, status=chosen, limit=50, cursor=cursor)
    numbers = await here.memory.jobs.counts(here.actor)
    return here.page(
        "admin/jobs.html", page=page, numbers=numbers, chosen=chosen, statuses=list(JobStatus)
    )


@router.post("/jobs/{job_id}/retry", dependencies=[OurForm])
async def retry_job(here: SignedIn, job_id: int) -> Response:
    """Queue the work of a failed job anew, or run one now that waits for its next try."""
    await here.memory.jobs.retry(here.actor, job_id)
    here.say("Its work is in the queue.")
    return here.done("/admin/jobs")
