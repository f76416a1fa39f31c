"""The first run: you, connect, bring your history, ask."""

from uuid import UUID, uuid4

from fastapi import APIRouter
from starlette.responses import Response

from remembrancer.access import Role
from remembrancer.errors import InvalidInput, RemembrancerError
from remembrancer.keys.schemas import KeyCreate, NewKey
from remembrancer.users.schemas import ResolveUser, UserUpdate, zones
from remembrancer.validation import as_id, validate
from remembrancer.web import connections, labels
from remembrancer.web.dependencies import (
    AdminRequest,
    CheckedForm,
    Form,
    PageRequest,
    UserRequest,
    shows_errors,
)

router = APIRouter()


@router.get("/start")
async def first(request: AdminRequest) -> Response:
    return await _render_you(request)


@router.get("/people/{user_id}/start")
async def you(request: UserRequest) -> Response:
    return await _render_you(request)


async def _render_you(
    request: PageRequest, form: Form | None = None, error: RemembrancerError | None = None
) -> Response:
    return request.render("start/you.html", error=error, form=form or Form(), zones=zones())


@router.post("/start")
@shows_errors(_render_you)
async def add(form: CheckedForm, request: AdminRequest) -> Response:
    values = form.values("display_name", "time_zone")
    identity = validate(
        ResolveUser, platform=labels.OWN_PLATFORM, platform_user_id=str(uuid4()), **values
    )
    user = await request.app.users.resolve(request.actor, identity)
    return request.redirect(f"/people/{user.id}/start/connect")


@router.post("/people/{user_id}/start")
@shows_errors(_render_you)
async def update(request: UserRequest, form: CheckedForm) -> Response:
    changes = validate(UserUpdate, **form.values("display_name", "time_zone"))
    await request.app.users.update(request.actor, request.user.id, changes)
    return request.to("start/connect")


@router.get("/people/{user_id}/start/connect")
async def connect(request: UserRequest, program: str = "claude-code") -> Response:
    return await _render_connection(request, program)


async def _render_connection(
    request: PageRequest,
    program: str,
    *,
    error: RemembrancerError | None = None,
    new_key: NewKey | None = None,
    agent_id: UUID | None = None,
) -> Response:
    if program not in connections.PROGRAMS:
        raise InvalidInput(f"must be one of {', '.join(connections.PROGRAMS)}", field="program")
    address = request.app.settings.server.public_url or str(request.http.base_url)
    secret = new_key.secret if new_key else connections.NO_KEY
    return request.render(
        "start/connect.html",
        error=error,
        program=program,
        programs=connections.PROGRAMS,
        snippets=connections.snippets(program, address.rstrip("/"), secret, agent_id),
        agents=(await request.app.agents.list(request.actor, limit=100)).items,
        agent_id=agent_id,
        new_key=new_key,
    )


@router.post("/people/{user_id}/start/connect")
async def make_key(request: UserRequest, form: CheckedForm) -> Response:
    program = form.get("program") or ""
    name = connections.PROGRAMS.get(program)
    if name is None:
        return await _render_connection(request, program)
    agent_id = as_id(form.get("agent"), field="agent") if form.get("agent") else None
    if agent_id is not None:
        await request.app.agents.get(request.actor, agent_id)
    key = validate(KeyCreate, name=name, role=Role.USER, user_id=request.user.id)
    created = await request.app.keys.create(request.actor, key)
    return await _render_connection(request, program, new_key=created, agent_id=agent_id)
