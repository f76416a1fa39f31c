"""Admin pages about agents: create, update and retire them."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.errors import RemembrancerError
from remembrancer.validation import validate
from remembrancer.web.dependencies import FORM_CHECK, AdminRequest, CheckedForm, Form, PageRequest

router = APIRouter(prefix="/admin/agents")

_FIELDS = ("name", "description", "system_prompt", "memory_scope", "provider", "model")
_EMPTY = {"name": "", "description": "", "system_prompt": "", "provider": None, "model": None}


@router.get("")
async def list_agents(request: AdminRequest, cursor: str | None = None) -> Response:
    page = await request.app.agents.list(request.actor, limit=50, cursor=cursor)
    return request.render("admin/agents.html", page=page)


@router.get("/new")
async def new(request: AdminRequest) -> Response:
    return _render_form(request, Form())


def _render_form(
    request: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    agent: Agent | None = None,
) -> Response:
    return request.render("admin/agent_form.html", form=form, error=error, agent=agent)


@router.post("")
async def create(form: CheckedForm, request: AdminRequest) -> Response:
    try:
        agent = await request.app.agents.create(
            request.actor, validate(AgentCreate, **form.values(*_FIELDS))
        )
    except RemembrancerError as error:
        return _render_form(request, form, error)
    request.notify(f"{agent.name} is created.")
    return request.redirect("/admin/agents")


@router.get("/{agent_id}")
async def edit(request: AdminRequest, agent_id: UUID) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id)
    return _render_form(request, Form(), agent=agent)


@router.post("/{agent_id}")
async def update(form: CheckedForm, request: AdminRequest, agent_id: UUID) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id)
    try:
        changes = validate(AgentUpdate, **_EMPTY | form.values(*_FIELDS))
        await request.app.agents.update(
            request.actor, agent_id, changes, if_version=_version(form, agent.version)
        )
    except RemembrancerError as error:
        return _render_form(request, form, error, agent)
    request.notify(f"{changes.name} is saved.")
    return request.redirect("/admin/agents")


def _version(form: Form, default: int) -> int:
    value = form.get("version") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else default


@router.post("/{agent_id}/retire", dependencies=[FORM_CHECK])
async def retire(request: AdminRequest, agent_id: UUID) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id)
    await request.app.agents.delete(request.actor, agent_id)
    request.notify(f"{agent.name} is retired. Users keep its memories.")
    return request.redirect("/admin/agents")
