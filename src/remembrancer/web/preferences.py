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
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest

router = APIRouter(prefix="/people/{user_id}")

_SCOPES: Final = {scope.value: scope for scope in Scope}


@router.get("/agents")
async def list_agents(request: UserRequest, cursor: str | None = None) -> Response:
    """Show a card for each agent."""
    page = await request.app.preferences.scopes(
        request.actor, request.user.id, limit=50, cursor=cursor
    )
    policy = await request.app.policies.get(request.actor)
    toggle = await request.app.preferences.toggle(request.actor, request.user.id)
    return request.render(
        "preferences/list.html",
        page=page,
        allowed=policy.allow_agent_specific_memory_globally,
        toggle=toggle,
    )


@router.post("/agents/all")
async def set_all(request: UserRequest, form: CheckedForm) -> Response:
    """Set the preference for all agents alike, or reset them all."""
    if form.get("scope") == "reset":
        count = await request.app.preferences.reset_all(request.actor, request.user.id)
        request.notify(f"{labels.plural(count, 'preference')} reset to the agents' defaults.")
    else:
        scope = _scope(form)
        update = PreferencesUpdate(allow_agent_specific_memory=scope is Scope.AGENT, all=True)
        done = await request.app.preferences.set_many(request.actor, request.user.id, update)
        changed = labels.plural(done.created + done.changed, "preference")
        request.notify(f"{changed} set to {labels.SCOPES[scope].lower()}.")
    return request.redirect(f"{request.base}/agents")


def _scope(form: Form, field: str = "scope") -> Scope:
    scope = _SCOPES.get(form.get(field) or "")
    if scope is None:
        raise InvalidInput("must be agent or global", field=field)
    return scope


@router.post("/agents/{agent_id}/scope")
async def set_preference(request: UserRequest, agent_id: UUID, form: CheckedForm) -> Response:
    """Set whether an agent keeps memories of its own."""
    scope = _scope(form)
    await request.app.preferences.set(
        request.actor,
        request.user.id,
        agent_id,
        PreferenceUpdate(allow_agent_specific_memory=scope is Scope.AGENT),
    )
    kind = "private" if scope is Scope.AGENT else "global"
    return await _card(request, agent_id, f"{{name}} will now use {kind} memories.")


@router.post("/agents/{agent_id}/reset", dependencies=[FORM_CHECK])
async def reset(request: UserRequest, agent_id: UUID) -> Response:
    """Let the agent's default count again."""
    await request.app.preferences.reset(request.actor, request.user.id, agent_id)
    return await _card(request, agent_id, "{name} is back at its default.")


async def _card(request: PageRequest, agent_id: UUID, said: str) -> Response:
    config = await request.app.preferences.scope(request.actor, request.user.id, agent_id)
    policy = await request.app.policies.get(request.actor)
    request.notify(said.replace("{name}", config.agent.name))
    return request.redirect(
        f"{request.base}/agents#agent-{agent_id}",
        "preferences/changed_card.html",
        config=config,
        allowed=policy.allow_agent_specific_memory_globally,
    )


@router.get("/agents/{agent_id}/move")
async def preview_move(request: UserRequest, agent_id: UUID) -> Response:
    """Show how many memories could be moved to the other scope, both ways."""
    config = await request.app.preferences.scope(request.actor, request.user.id, agent_id)
    moving = request.app.moves
    plans = {
        scope: await moving.move(request.actor, request.user.id, agent_id, MoveRequest(to=scope))
        for scope in Scope
    }
    own = await request.app.memories.list(
        request.user_actor, MemoryFilter(kept_for=agent_id), limit=1
    )
    return request.render("preferences/move.html", config=config, plans=plans, own=own.total)


@router.post("/agents/{agent_id}/move")
async def move(request: UserRequest, agent_id: UUID, form: CheckedForm) -> Response:
    """Move an agent's memories to the other scope, or copy them."""
    copying = form.get("how") == "copy"
    wanted = made(MoveRequest, to=_scope(form, "to"), copy=copying, dry_run=False)
    done = await request.app.moves.move(request.actor, request.user.id, agent_id, wanted)
    verb = "copied" if copying else "moved"
    said = f"{labels.plural(done.moved, 'memory', 'memories')} {verb}"
    if done.merged:
        said += f", {done.merged:,} known there already"
    undo = f"{request.base}/moves/{done.undo_id}/undo" if done.undo_id else None
    request.notify(f"{said}.", undo)
    return request.redirect(f"{request.base}/agents#agent-{agent_id}")


@router.post("/moves/{undo_id}/undo", dependencies=[FORM_CHECK])
async def undo_move(request: UserRequest, undo_id: UUID) -> Response:
    """Take a move or a copy back."""
    done = await request.app.moves.undo(request.actor, request.user.id, undo_id)
    said = f"Taken back: {labels.plural(done.returned, 'memory', 'memories')}"
    request.notify(said + (f"; {done.stayed:,} stay, which changed since." if done.stayed else "."))
    return request.redirect(f"{request.base}/agents")
