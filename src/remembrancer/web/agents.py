"""Admin pages about agents: create, update and retire them."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.agents.schemas import AgentCreate, AgentUpdate
from remembrancer.errors import RemembrancerError
from remembrancer.validation import validate
from remembrancer.web import dependencies

router = APIRouter(prefix="/admin/agents")

_FIELDS = ("name", "description", "system_prompt", "memory_scope", "llm_provider", "llm_model")
_EMPTY = {
    "name": "",
    "description": "",
    "system_prompt": "",
    "llm_provider": None,
    "llm_model": None,
}


@router.get("")
async def list_agents(request: dependencies.AdminRequest, cursor: str | None = None) -> Response:
    page = await request.app.agents.list(request.actor, limit=50, cursor=cursor)
    return request.render("admin/agents.html", page=page)


async def _render_form(
    request: dependencies.PageRequest,
    agent_id: UUID | None = None,
    form: dependencies.Form | None = None,
    error: RemembrancerError | None = None,
) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id) if agent_id else None
    return request.render(
        "admin/agent_form.html", form=form or dependencies.Form(), error=error, agent=agent
    )


@router.get("/new")
async def new(request: dependencies.AdminRequest) -> Response:
    return await _render_form(request)


@router.post("")
@dependencies.shows_errors(_render_form)
async def create(form: dependencies.CheckedForm, request: dependencies.AdminRequest) -> Response:
    agent = await request.app.agents.create(
        request.actor, validate(AgentCreate, **form.values(*_FIELDS))
    )
    return request.to("agents", f"{agent.name} is created.")


@router.get("/{agent_id}")
async def edit(request: dependencies.AdminRequest, agent_id: UUID) -> Response:
    return await _render_form(request, agent_id)


@router.post("/{agent_id}")
@dependencies.shows_errors(_render_form)
async def update(
    form: dependencies.CheckedForm, request: dependencies.AdminRequest, agent_id: UUID
) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id)
    changes = validate(AgentUpdate, **_EMPTY | form.values(*_FIELDS))
    version = _version(form, agent.version)
    await request.app.agents.update(request.actor, agent_id, changes, if_version=version)
    return request.to("agents", f"{changes.name} is saved.")


def _version(form: dependencies.Form, default: int) -> int:
    value = form.get("version") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else default


@router.post("/{agent_id}/retire", dependencies=[dependencies.FORM_CHECK])
async def retire(request: dependencies.AdminRequest, agent_id: UUID) -> Response:
    agent = await request.app.agents.get(request.actor, agent_id)
    await request.app.agents.delete(request.actor, agent_id)
    return request.to("agents", f"{agent.name} is retired. Users keep its memories.")
