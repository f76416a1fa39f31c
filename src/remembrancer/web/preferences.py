"""Pages about a user's agents: the scope of each, and moving memories between scopes."""

from typing import Final
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Scope
from remembrancer.agents.schemas import Agent
from remembrancer.errors import InvalidInput
from remembrancer.lookup.agent_memory import MOST_LISTED
from remembrancer.lookup.schemas import ScopeChange
from remembrancer.memories.schemas import MemoryFilter
from remembrancer.moves.schemas import MoveRequest
from remembrancer.paging import LARGEST_PAGE
from remembrancer.preferences.schemas import PreferencesUpdate
from remembrancer.validation import as_id, validate
from remembrancer.web import labels
from remembrancer.web.dependencies import FORM_CHECK, CheckedForm, Form, PageRequest, UserRequest
from remembrancer.web.languages import counted, gettext, number
from remembrancer.web.sessions import is_partial

router = APIRouter(prefix="/people/{user_id}")

_SCOPES: Final = {scope.value: scope for scope in Scope}
_LISTED: Final = 20
"""Memories listed of each part of a comparison, unless all are asked for."""


@router.get("/agents")
async def list_agents(request: UserRequest, cursor: str | None = None) -> Response:
    preferences, actor, user_id = request.app.preferences, request.actor, request.user.id
    policy = await request.app.policies.get(actor)
    return request.render(
        "preferences/list.html",
        page=await request.app.agent_memory.cards(request.user_actor, limit=50, cursor=cursor),
        agents=await _agents(request),
        allowed=policy.allow_agent_specific_memory_globally,
        toggle=await preferences.toggle(actor, user_id),
    )


async def _agents(request: PageRequest) -> list[Agent]:
    return (await request.app.agents.list(request.actor, limit=LARGEST_PAGE)).items


@router.get("/agents/compare")
async def compare(
    request: UserRequest, left: str = "", right: str = "", every: str = ""
) -> Response:
    agents = await _agents(request)
    chosen = [
        as_id(value, field=side) for side, value in (("left", left), ("right", right)) if value
    ]
    # Without a choice, the first two.
    chosen += [agent.id for agent in agents if agent.id not in chosen][: 2 - len(chosen)]
    if len(chosen) < 2:
        return request.redirect(f"{request.base}/agents")
    limit = MOST_LISTED if every else _LISTED
    return request.render(
        "preferences/compare.html",
        agents=agents,
        both=await request.app.agent_memory.compare(request.user_actor, *chosen, limit=limit),
        everything=bool(every),
    )


@router.post("/agents/all")
async def set_all(request: UserRequest, form: CheckedForm) -> Response:
    preferences, actor, user_id = request.app.preferences, request.actor, request.user.id
    if form.get("scope") == "reset":
        count = await preferences.reset_all(actor, user_id)
        text = counted(
            "%(count)s preference reset to the agents' defaults.",
            "%(count)s preferences reset to the agents' defaults.",
            count,
        )
        return request.to("agents", text)
    scope = _scope(form)
    update = PreferencesUpdate(allow_agent_specific_memory=scope is Scope.AGENT, all=True)
    result = await preferences.set_many(actor, user_id, update)
    count = result.created + result.changed
    text = (
        counted(
            "%(count)s preference set to private.", "%(count)s preferences set to private.", count
        )
        if scope is Scope.AGENT
        else counted(
            "%(count)s preference set to global.", "%(count)s preferences set to global.", count
        )
    )
    return request.to("agents", text)


def _scope(form: Form, field: str = "scope") -> Scope:
    scope = _SCOPES.get(form.get(field) or "")
    if scope is None:
        raise InvalidInput("must be agent or global", field=field)
    return scope


@router.get("/agents/{agent_id}/scope")
async def preview_scope(request: UserRequest, agent_id: UUID, to: str = "") -> Response:
    """Show what another scope would change, before it does."""
    if not to:
        return await _card(request, agent_id)
    if to not in _SCOPES:
        raise InvalidInput("must be agent or global", field="to")
    change = await request.app.agent_memory.preview(
        request.user_actor, agent_id, _SCOPES[to], limit=_LISTED
    )
    if not is_partial(request.http):
        return request.render("preferences/scope.html", change=change)
    words = labels.scope_change(change.vanish.count, change.appear.count)
    request.notify(
        gettext(
            "Not changed yet. For %(agent)s, %(change)s.",
            agent=change.config.agent.name,
            change=words,
        )
    )
    return await _card(request, agent_id, change=change)


@router.post("/agents/{agent_id}/scope")
async def set_preference(request: UserRequest, agent_id: UUID, form: CheckedForm) -> Response:
    scope = _scope(form)
    result = await request.app.agent_memory.set_scope(
        request.user_actor, agent_id, scope, copy=form.get("copy") == "1"
    )
    earlier, copied = result.earlier, result.copied
    used = (
        gettext("%(agent)s will now use private memories.")
        if scope is Scope.AGENT
        else gettext("%(agent)s will now use global memories.")
    )
    fields: list[tuple[str, str]] = []
    if (before := earlier.user_preference) is not None:
        fields.append(("scope", "agent" if before.allow_agent_specific_memory else "global"))
    request.notify(
        used % {"agent": earlier.agent.name},
        f"agents/{agent_id}/{'scope' if fields else 'reset'}",
        fields=fields,
    )
    if copied is not None and copied.undo_id is not None:
        request.notify(
            counted("%(count)s memory copied.", "%(count)s memories copied.", copied.moved),
            f"moves/{copied.undo_id}/undo",
        )
    return await _card(request, agent_id)


@router.post("/agents/{agent_id}/reset", dependencies=[FORM_CHECK])
async def reset(request: UserRequest, agent_id: UUID) -> Response:
    await request.app.preferences.reset(request.actor, request.user.id, agent_id)
    agent = await request.app.agents.get(request.actor, agent_id)
    request.notify(gettext("%(agent)s is back at its default.", agent=agent.name))
    return await _card(request, agent_id)


async def _card(
    request: PageRequest, agent_id: UUID, *, change: ScopeChange | None = None
) -> Response:
    address = f"{request.base}/agents#agent-{agent_id}"
    if not is_partial(request.http):
        return request.redirect(address)
    policy = await request.app.policies.get(request.actor)
    return request.render(
        "preferences/changed_card.html",
        card_of=await request.app.agent_memory.card(request.user_actor, agent_id),
        change=change,
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
    text = (
        counted("%(count)s memory copied", "%(count)s memories copied", result.moved)
        if is_copy
        else counted("%(count)s memory moved", "%(count)s memories moved", result.moved)
    )
    if result.merged:
        text += ", " + gettext("%(count)s known there already", count=number(result.merged))
    undo = f"moves/{result.undo_id}/undo" if result.undo_id else None
    return request.to(f"agents#agent-{agent_id}", f"{text}.", undo)


@router.post("/moves/{undo_id}/undo", dependencies=[FORM_CHECK])
async def undo_move(request: UserRequest, undo_id: UUID) -> Response:
    result = await request.app.moves.undo(request.actor, request.user.id, undo_id)
    text = counted("Undone: %(count)s memory", "Undone: %(count)s memories", result.returned)
    if result.stayed:
        text += "; " + counted(
            "%(count)s stays because it changed since",
            "%(count)s stay because they changed since",
            result.stayed,
        )
    return request.to("agents", f"{text}.")
