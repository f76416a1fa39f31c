"""A person's agents: whose memory each reads, the switch for it, and moving what is there."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Scope
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.moves.schemas import MoveRequest
from remembrancer.preferences.schemas import PreferencesUpdate, PreferenceUpdate
from remembrancer.validation import made
from remembrancer.web import labels
from remembrancer.web.dependencies import About, Checked, Form, OurForm, PageRequest

router = APIRouter(prefix="/people/{user_id}")

_SCOPES: Final = {scope.value: scope for scope in Scope}


@router.get("/agents")
async def list_agents(here: About, cursor: str | None = None) -> Response:
    """Show a card for each agent."""
    page = await here.memory.preferences.scopes(here.actor, here.user.id, limit=50, cursor=cursor)
    policy = await here.memory.policies.get(here.actor)
    toggle = await here.memory.preferences.toggle(here.actor, here.user.id)
    return here.page(
        "preferences/list.html",
        page=page,
        allowed=policy.allow_agent_specific_memory_globally,
        toggle=toggle,
    )


@router.post("/agents/all")
async def set_all(here: About, form: Checked) -> Response:
    """Set the preference for all agents alike, or reset them all."""
    if form.get("scope") == "reset":
        count = await here.memory.preferences.reset_all(here.actor, here.user.id)
        here.say(f"{labels.plural(count, 'preference')} reset to the agents' defaults.")
    else:
        scope = _scope(form)
        update = PreferencesUpdate(allow_agent_specific_memory=scope is Scope.AGENT, all=True)
        done = await here.memory.preferences.put_many(here.actor, here.user.id, update)
        changed = labels.plural(done.created + done.changed, "preference")
        here.say(f"{changed} set to {labels.SCOPES[scope].lower()}.")
    return here.done(f"{here.base}/agents")


def _scope(form: Form, field: str = "scope") -> Scope:
    scope = _SCOPES.get(form.get(field) or "")
    if scope is None:
        raise InvalidInput("must be agent or global", field=field)
    return scope


@router.post("/agents/{agent_id}/scope")
async def set_preference(here: About, agent_id: UUID, form: Checked) -> Response:
    """Set whether an agent keeps memories of its own."""
    scope = _scope(form)
    await here.memory.preferences.put(
        here.actor,
        here.user.id,
        agent_id,
        PreferenceUpdate(allow_agent_specific_memory=scope is Scope.AGENT),
    )
    kind = "private" if scope is Scope.AGENT else "global"
    return await _card(here, agent_id, f"{{name}} will now use {kind} memories.")


@router.post("/agents/{agent_id}/reset", dependencies=[OurForm])
async def reset(here: About, agent_id: UUID) -> Response:
    """Let the agent's default count again."""
    await here.memory.preferences.reset(here.actor, here.user.id, agent_id)
    return await _card(here, agent_id, "{name} is back at its default.")


async def _card(here: PageRequest, agent_id: UUID, said: str) -> Response:
    config = await here.memory.preferences.scope(here.actor, here.user.id, agent_id)
    policy = await here.memory.policies.get(here.actor)
    here.say(said.replace("{name}", config.agent.name))
    return here.done(
        f"{here.base}/agents#agent-{agent_id}",
        "preferences/changed_card.html",
        config=config,
        allowed=policy.allow_agent_specific_memory_globally,
    )


@router.get("/agents/{agent_id}/move")
async def preview_move(here: About, agent_id: UUID) -> Response:
    """Show how many memories could be moved to the other scope, both ways."""
    config = await here.memory.preferences.scope(here.actor, here.user.id, agent_id)
    moving = here.memory.moves
    plans = {
        scope: await moving.move(here.actor, here.user.id, agent_id, MoveRequest(to=scope))
        for scope in Scope
    }
    own = await here.memory.memories.list(here.acting, MemoryFilter(kept_for=agent_id), limit=1)
    return here.page("preferences/move.html", config=config, plans=plans, own=own.total)


@router.post("/agents/{agent_id}/move")
async def move(here: About, agent_id: UUID, form: Checked) -> Response:
    """Move an agent's memories to the other scope, or copy them."""
    copying = form.get("how") == "copy"
    wanted = made(MoveRequest, to=_scope(form, "to"), copy=copying, dry_run=False)
    done = await here.memory.moves.move(here.actor, here.user.id, agent_id, wanted)
    verb = "copied" if copying else "moved"
    said = f"{labels.plural(done.moved, 'memory', 'memories')} {verb}"
    if done.merged:
        said += f", {done.merged:,} known there already"
    undo = f"{here.base}/moves/{done.undo_id}/undo" if done.undo_id else None
    here.say(f"{said}.", undo)
    return here.done(f"{here.base}/agents#agent-{agent_id}")


@router.post("/moves/{undo_id}/undo", dependencies=[OurForm])
async def undo_move(here: About, undo_id: UUID) -> Response:
    """Take a move or a copy back."""
    done = await here.memory.moves.undo(here.actor, here.user.id, undo_id)
    said = f"Taken back: {labels.plural(done.returned, 'memory', 'memories')}"
    here.say(said + (f"; {done.stayed:,} stay, which changed since." if done.stayed else "."))
    return here.done(f"{here.base}/agents")
