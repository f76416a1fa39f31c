"""Admin pages: policy, statistics, users, agents, API keys, jobs."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.agents.schemas import AgentCreate, AgentUpdate
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.importers import progress
from remembrancer.jobs.schemas import JobStatus
from remembrancer.keys.schemas import KeyCreate, NewKey
from remembrancer.preferences.schemas import PolicyUpdate
from remembrancer.search import reembed
from remembrancer.statistics import counts
from remembrancer.users.schemas import ResolveUser
from remembrancer.validation import validate
from remembrancer.web import labels, people
from remembrancer.web.dependencies import (
    FORM_CHECK,
    AdminRequest,
    CheckedForm,
    Form,
    PageRequest,
    SessionRequest,
    shows_errors,
)
from remembrancer.web.languages import gettext
from remembrancer.web.usage import charts_of

router = APIRouter(prefix="/admin")

_MAX_KEY_DAYS = 3650
_FEW = 3
_OVERVIEW_DAYS = 14
_OVERVIEW_CHARTS = 4
_AGENT_FIELDS = (
    "name",
    "description",
    "system_prompt",
    "memory_scope",
    "llm_provider",
    "llm_model",
)
_EMPTY_AGENT = {
    "name": "",
    "description": "",
    "system_prompt": "",
    "llm_provider": None,
    "llm_model": None,
}
_PAGE_SIZE = 50


@router.get("")
async def overview(request: AdminRequest) -> Response:
    app, actor = request.app, request.actor
    start = time.perf_counter()
    await app.database.ping()
    milliseconds = round(1000 * (time.perf_counter() - start), 1)
    policy, statistics, numbers = await asyncio.gather(
        app.policies.get(actor), app.policies.statistics(actor), counts(app.database)
    )
    jobs, failed, usage, work = await asyncio.gather(
        app.jobs.counts(actor),
        app.jobs.list(actor, status=JobStatus.FAILED, limit=_FEW),
        charts_of(request, _OVERVIEW_DAYS),
        _work(request),
    )
    return request.render(
        "admin/overview.html",
        policy=policy,
        statistics=statistics,
        counts=numbers,
        jobs=jobs,
        failed=failed.items,
        charts=usage.charts[:_OVERVIEW_CHARTS],
        work=work,
        milliseconds=milliseconds,
        embedder=app.embedder,
        address=str(request.http.base_url).rstrip("/"),
        key_file=str(app.settings.data_dir.expanduser() / "admin.key"),
    )


@dataclass(frozen=True, slots=True)
class Work:
    """Long work, how much of it is done, and how it ended."""

    title: str
    done: int
    total: int
    at: datetime | None = None
    end: str = ""
    how: str = ""
    is_running: bool = True


async def _work(request: PageRequest) -> list[Work]:
    state, imports = await asyncio.gather(
        reembed.running(request.app.database), progress.recent(request.app.database)
    )
    vectors = [Work(gettext("Vectors of the new model"), state.done, state.items)] if state else []
    return vectors + [
        Work(
            gettext("Import"),
            one.done,
            one.total,
            at=one.started_at,
            end=labels.import_end(one),
            how=labels.import_state(one),
            is_running=one.is_running,
        )
        for one in imports
    ]


@router.get("/retention")
async def retention(request: AdminRequest) -> Response:
    return request.render(
        "admin/retention.html", report=await request.app.retention.run(request.actor)
    )


@router.post("/policy")
async def set_policy(request: SessionRequest, form: CheckedForm) -> Response:
    allow = {"true": True, "false": False}.get(form.get("allow") or "")
    if allow is None:
        raise InvalidInput("must be true or false", field="allow")
    policy = PolicyUpdate(allow_agent_specific_memory_globally=allow)
    await request.app.policies.set(request.actor, policy)
    return request.to(
        "",
        gettext("Agent-specific memory is allowed again. Preferences apply as before.")
        if allow
        else gettext("Agent-specific memory is off: every agent is global for everybody."),
    )


async def _render_users(
    request: PageRequest,
    name: str = "",
    offset: int = 0,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    app, actor = request.app, request.actor
    is_part = request.partial_target == "people"
    return request.render(
        "admin/people_list.html" if is_part else "admin/people.html",
        error=error,
        headers=request.history("name") if is_part else None,
        name=name,
        matches=await app.names.find(actor, name, limit=_PAGE_SIZE) if name else None,
        everybody=None
        if name
        else await app.users.overview(actor, limit=_PAGE_SIZE, offset=offset),
        offset=offset,
        size=_PAGE_SIZE,
        form=form or Form(),
    )


@router.get("/people")
async def list_users(request: AdminRequest, name: str = "", offset: int = 0) -> Response:
    return await _render_users(request, name.strip(), offset)


@router.post("/people")
@shows_errors(_render_users)
async def add_user(form: CheckedForm, request: AdminRequest) -> Response:
    values = form.values("platform", "platform_user_id", "display_name", "time_zone")
    user = await request.app.users.resolve(request.actor, validate(ResolveUser, **values))
    return request.redirect(f"/people/{user.id}/profile")


@router.get("/agents")
async def list_agents(request: AdminRequest, cursor: str | None = None) -> Response:
    page = await request.app.agents.list(request.actor, limit=50, cursor=cursor)
    return request.render("admin/agents.html", page=page)


async def _render_agent(
    request: PageRequest,
    agent_id: UUID | None = None,
    form: Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id) if agent_id else None
    return request.render("admin/agent_form.html", form=form or Form(), error=error, agent=agent)


@router.get("/agents/new")
async def new_agent(request: AdminRequest) -> Response:
    return await _render_agent(request)


@router.post("/agents")
@shows_errors(_render_agent)
async def create_agent(form: CheckedForm, request: AdminRequest) -> Response:
    agent = await request.app.agents.create(
        request.actor, validate(AgentCreate, **form.values(*_AGENT_FIELDS))
    )
    return request.to("agents", gettext("%(name)s is created.", name=agent.name))


@router.get("/agents/{agent_id}")
async def edit_agent(request: AdminRequest, agent_id: UUID) -> Response:
    return await _render_agent(request, agent_id)


@router.post("/agents/{agent_id}")
@shows_errors(_render_agent)
async def update_agent(form: CheckedForm, request: AdminRequest, agent_id: UUID) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id)
    changes = validate(AgentUpdate, **_EMPTY_AGENT | form.values(*_AGENT_FIELDS))
    version = _version(form, agent.version)
    await request.app.agents.update(request.actor, agent_id, changes, if_version=version)
    return request.to("agents", gettext("%(name)s is saved.", name=changes.name))


def _version(form: Form, default: int) -> int:
    value = form.get("version") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else default


@router.post("/agents/{agent_id}/retire", dependencies=[FORM_CHECK])
async def retire_agent(request: AdminRequest, agent_id: UUID) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id)
    await request.app.agents.delete(request.actor, agent_id)
    return request.to(
        "agents", gettext("%(name)s is retired. Users keep its memories.", name=agent.name)
    )


@router.get("/keys")
async def list_keys(request: AdminRequest) -> Response:
    return await _render_keys(request)


async def _render_keys(
    request: PageRequest,
    *,
    form: Form | None = None,
    error: RemembrancerError | None = None,
    new_key: NewKey | None = None,
    key_id: UUID | None = None,
) -> Response:
    keys = (await request.app.keys.list(request.actor)).items
    holders = [key.user_id for key in keys if key.user_id is not None]
    return request.render(
        "admin/keys.html",
        error=error,
        is_host=request.app.is_default,
        keys=keys,
        people=await request.app.names.people(request.actor, holders),
        roles=list(Role),
        form=form or Form(),
        new_key=new_key,
        old=key_id,
    )


@router.post("/keys")
@shows_errors(_render_keys)
async def create_key(form: CheckedForm, request: AdminRequest) -> Response:
    values: dict[str, Any] = form.values("name", "role")
    if user_id := await people.person_in(request, form):
        values["user_id"] = user_id
    if days := form.get("days"):
        values["expires_at"] = _in_days(days)
    key = await request.app.keys.create(request.actor, validate(KeyCreate, **values))
    return await _render_keys(request, new_key=key)


def _in_days(days: str) -> datetime:
    is_number = days.isascii() and days.isdigit() and len(days) < 5
    if not is_number or not 0 < int(days) <= _MAX_KEY_DAYS:
        raise InvalidInput(f"must be from 1 to {_MAX_KEY_DAYS:,} days", field="days")
    return datetime.now(UTC) + timedelta(days=int(days))


@router.post("/keys/{key_id}/rotate", dependencies=[FORM_CHECK])
@shows_errors(_render_keys)
async def rotate_key(request: AdminRequest, key_id: UUID) -> Response:
    new_key = await request.app.keys.rotate(request.actor, key_id)
    return await _render_keys(request, new_key=new_key, key_id=key_id)


@router.post("/keys/{key_id}/revoke", dependencies=[FORM_CHECK])
async def revoke_key(request: AdminRequest, key_id: UUID) -> Response:
    key = await request.app.keys.revoke(request.actor, key_id)
    return request.to("keys", gettext("The key %(name)s is revoked.", name=key.name))


@router.get("/jobs")
async def list_jobs(
    request: SessionRequest, status: str = "", cursor: str | None = None
) -> Response:
    if status and status not in set(JobStatus):
        raise InvalidInput(f"must be one of {', '.join(JobStatus)}", field="status")
    selected = JobStatus(status) if status else None
    jobs = request.app.jobs
    page = await jobs.list(request.actor, status=selected, limit=50, cursor=cursor)
    ids = [id_ for job in page.items for id_ in job.arguments.values()]
    return request.render(
        "admin/jobs.html",
        page=page,
        named=await request.app.names.of(request.actor, ids),
        numbers=await jobs.counts(request.actor),
        work=await _work(request),
        selected=selected,
        statuses=list(JobStatus),
    )


@router.get("/jobs/work")
async def show_work(request: AdminRequest) -> Response:
    return request.render("admin/work.html", work=await _work(request))


@router.post("/jobs/{job_id}/retry", dependencies=[FORM_CHECK])
async def retry_job(request: SessionRequest, job_id: int) -> Response:
    await request.app.jobs.retry(request.actor, job_id)
    return request.to("jobs", gettext("The job is queued."))
