"""Pages about a user's agents: the scope of each, and moving memories between scopes."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Scope
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.moves.schemas import MoveRequest
from remembrancer.preferences.schemas import PreferencesUpdate, PreferenceUpdate
from remembrancer.text import plural
from remembrancer.validation import validate
from remembrancer.web import labels
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest

router = APIRouter(prefix="/people/{user_id}")

_SCOPES: Final = {scope.value: scope for scope in Scope}


@router.get("/agents")
async def list_agents(request: UserRequest, cursor: str | None = None) -> Response:
    preferences, actor, user_id = request.app.preferences, request.actor, request.user.id
    policy = await request.app.policies.get(actor)
    return request.render(
        "preferences/list.html",
        page=await preferences.scopes(actor, user_id, limit=50, cursor=cursor),
        allowed=policy.allow_agent_specific_memory_globally,
        toggle=await preferences.toggle(actor, user_id),
    )


@router.post("/agents/all")
async def set_all(request: UserRequest, form: CheckedForm) -> Response:
    preferences, actor, user_id = request.app.preferences, request.actor, request.user.id
    if form.get("scope") == "reset":
        count = await preferences.reset_all(actor, user_id)
        text = f"{plural(count, 'preference')} reset to the agents' defaults."
        return request.to("agents", text)
    scope = _scope(form)
    update = PreferencesUpdate(allow_agent_specific_memory=scope is Scope.AGENT, all=True)
    result = await preferences.set_many(actor, user_id, update)
    count = result.created + result.changed
    text = f"{plural(count, 'preference')} set to {labels.SCOPES[scope].lower()}."
    return request.to("agents", text)


def _scope(form: Form, field: str = "scope") -> Scope:
    scope = _SCOPES.get(form.get(field) or "")
    if scope is None:
        raise InvalidInput("must be agent or global", field=field)
    return scope


@router.post("/agents/{agent_id}/scope")
async def set_preference(request: UserRequest, agent_id: UUID, form: CheckedForm) -> Response:
    is_private = _scope(form) is Scope.AGENT
    preference = PreferenceUpdate(allow_agent_specific_memory=is_private)
    await request.app.preferences.set(request.actor, request.user.id, agent_id, preference)
    kind = "private" if is_private else "global"
    return await _card(request, agent_id, f"will now use {kind} memories.")


@router.post("/agents/{agent_id}/reset", dependencies=[FORM_CHECK])
async def reset(request: UserRequest, agent_id: UUID) -> Response:
    await request.app.preferences.reset(request.actor, request.user.id, agent_id)
    return await _card(request, agent_id, "is back at its default.")


async def _card(request: PageRequest, agent_id: UUID, change: str) -> Response:
    config = await request.app.preferences.scope(request.actor, request.user.id, agent_id)
    policy = await request.app.policies.get(request.actor)
    request.notify(f"{config.agent.name} {change}")
    return request.redirect(
        f"{request.base}/agents#agent-{agent_id}",
        "preferences/changed_card.html",
        config=config,
        allowed=policy.allow_agent_specific_memory_globally,
    )


@router.get("/agents/{agent_id}/move")
async def preview_move(request: UserRequest, agent_id: UUID) -> Response:
    actor, user_id = request.actor, request.user.id
    own = MemoryFilter(kept_for=agent_id)
    return request.render(
        "preferences/move.html",
        config=await request.app.preferences.scope(actor, user_id, agent_id),
        plans={
            scope: await request.app.moves.move(actor, user_id, agent_id, MoveRequest(to=scope))
            for scope in Scope
        },
        own=(await request.app.memories.list(request.user_actor, own, limit=1)).total,
    )


@router.post("/agents/{agent_id}/move")
async def move(request: UserRequest, agent_id: UUID, form: CheckedForm) -> Response:
    is_copy = form.get("how") == "copy"
    plan = validate(MoveRequest, to=_scope(form, "to"), copy=is_copy, dry_run=False)
    result = await request.app.moves.move(request.actor, request.user.id, agent_id, plan)
    text = f"{plural(result.moved, 'memory', 'memories')} {'copied' if is_copy else 'moved'}"
    if result.merged:
        text += f", {result.merged:,} known there already"
    undo = f"moves/{result.undo_id}/undo" if result.undo_id else None
    return request.to(f"agents#agent-{agent_id}", f"{text}.", undo)


@router.post("/moves/{undo_id}/undo", dependencies=[FORM_CHECK])
async def undo_move(request: UserRequest, undo_id: UUID) -> Response:
    result = await request.app.moves.undo(request.actor, request.user.id, undo_id)
    text = f"Undone: {plural(result.returned, 'memory', 'memories')}"
    stayed = f"; {result.stayed:,} stay because they changed since" if result.stayed else ""
    return request.to("agents", f"{text}{stayed}.")
