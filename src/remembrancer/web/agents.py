"""The agents themselves, for admins: make, change and retire them, with their default scope."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.errors import RemembrancerError
from remembrancer.validation import made
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, SessionRequest

router = APIRouter(prefix="/admin/agents")

_FIELDS = ("name", "description", "system_prompt", "memory_scope", "provider", "model")


@router.get("")
async def list_agents(request: SessionRequest, cursor: str | None = None) -> Response:
    """List all agents."""
    request.actor.require(Role.ADMIN)
    page = await request.app.agents.list(request.actor, limit=50, cursor=cursor)
    return request.render("admin/agents.html", page=page)


@router.get("/new")
async def new(request: SessionRequest) -> Response:
    """Show an empty form."""
    request.actor.require(Role.ADMIN)
    return _form(request, Form([]))


def _form(
    request: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    agent: Agent | None = None,
) -> Response:
    status = error.status if error else 200
    return request.render("admin/agent_form.html", status, form=form, error=error, agent=agent)


@router.post("")
async def create(request: SessionRequest, form: CheckedForm) -> Response:
    """Make an agent."""
    request.actor.require(Role.ADMIN)
    try:
        wanted = made(AgentCreate, **form.values(*_FIELDS))
        agent = await request.app.agents.create(request.actor, wanted)
    except RemembrancerError as error:
        return _form(request, form, error)
    request.notify(f"{agent.name} is made.")
    return request.redirect("/admin/agents")


@router.get("/{agent_id}")
async def edit(request: SessionRequest, agent_id: UUID) -> Response:
    """Show an agent, to be changed."""
    request.actor.require(Role.ADMIN)
    return _form(request, Form([]), agent=await request.app.agents.get(request.actor, agent_id))


@router.post("/{agent_id}")
async def update(request: SessionRequest, agent_id: UUID, form: CheckedForm) -> Response:
    """Change an agent; what is emptied becomes empty."""
    request.actor.require(Role.ADMIN)
    agent = await request.app.agents.get(request.actor, agent_id)
    try:
        emptied = {"description": "", "system_prompt": "", "provider": None, "model": None}
        changes = made(AgentUpdate, **emptied | {"name": ""} | form.values(*_FIELDS))
        await request.app.agents.update(
            request.actor, agent_id, changes, if_version=_version(form, agent.version)
        )
    except RemembrancerError as error:
        return _form(request, form, error, agent)
    request.notify(f"{changes.name} is saved.")
    return request.redirect("/admin/agents")


def _version(form: Form, otherwise: int) -> int:
    value = form.get("version") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else otherwise


@router.post("/{agent_id}/retire", dependencies=[FORM_CHECK])
async def retire(request: SessionRequest, agent_id: UUID) -> Response:
    """Retire an agent. Its memories stay with the people they belong to."""
    request.actor.require(Role.ADMIN)
    agent = await request.app.agents.get(request.actor, agent_id)
    await request.app.agents.delete(request.actor, agent_id)
    request.notify(f"{agent.name} is retired. Its memories stay with the people they belong to.")
    return request.redirect("/admin/agents")
