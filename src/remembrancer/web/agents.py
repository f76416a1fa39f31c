"""The agents themselves, for admins: make, change and retire them, with their default scope."""

from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.agents.schemas import Agent, AgentCreate, AgentUpdate
from remembrancer.errors import RemembrancerError
from remembrancer.validation import made
from remembrancer.web.dependencies import Checked, Form, OurForm, PageRequest, SignedIn

router = APIRouter(prefix="/admin/agents")

_FIELDS = ("name", "description", "system_prompt", "memory_scope", "provider", "model")


@router.get("")
async def list_agents(here: SignedIn, cursor: str | None = None) -> Response:
    """List all agents."""
    here.actor.require(Role.ADMIN)
    page = await here.memory.agents.list(here.actor, limit=50, cursor=cursor)
    return here.page("admin/agents.html", page=page)


@router.get("/new")
async def new(here: SignedIn) -> Response:
    """Show an empty form."""
    here.actor.require(Role.ADMIN)
    return _form(here, Form([]))


def _form(
    here: PageRequest,
    form: Form,
    error: RemembrancerError | None = None,
    agent: Agent | None = None,
) -> Response:
    status = error.status if error else 200
    return here.page("admin/agent_form.html", status, form=form, error=error, agent=agent)


@router.post("")
async def create(here: SignedIn, form: Checked) -> Response:
    """Make an agent."""
    here.actor.require(Role.ADMIN)
    try:
        wanted = made(AgentCreate, **form.given(*_FIELDS))
        agent = await here.memory.agents.create(here.actor, wanted)
    except RemembrancerError as error:
        return _form(here, form, error)
    here.say(f"{agent.name} is made.")
    return here.done("/admin/agents")


@router.get("/{agent_id}")
async def edit(here: SignedIn, agent_id: UUID) -> Response:
    """Show an agent, to be changed."""
    here.actor.require(Role.ADMIN)
    return _form(here, Form([]), agent=await here.memory.agents.get(here.actor, agent_id))


@router.post("/{agent_id}")
async def update(here: SignedIn, agent_id: UUID, form: Checked) -> Response:
    """Change an agent; what is emptied becomes empty."""
    here.actor.require(Role.ADMIN)
    agent = await here.memory.agents.get(here.actor, agent_id)
    try:
        emptied = {"description": "", "system_prompt": "", "provider": None, "model": None}
        changes = made(AgentUpdate, **emptied | {"name": ""} | form.given(*_FIELDS))
        await here.memory.agents.update(
            here.actor, agent_id, changes, if_version=_version(form, agent.version)
        )
    except RemembrancerError as error:
        return _form(here, form, error, agent)
    here.say(f"{changes.name} is saved.")
    return here.done("/admin/agents")


def _version(form: Form, otherwise: int) -> int:
    value = form.get("version") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else otherwise


@router.post("/{agent_id}/retire", dependencies=[OurForm])
async def retire(here: SignedIn, agent_id: UUID) -> Response:
    """Retire an agent. Its memories stay with the people they belong to."""
    here.actor.require(Role.ADMIN)
    agent = await here.memory.agents.get(here.actor, agent_id)
    await here.memory.agents.delete(here.actor, agent_id)
    here.say(f"{agent.name} is retired. Its memories stay with the people they belong to.")
    return here.done("/admin/agents")
