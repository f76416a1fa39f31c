"""What endpoints share: application, actor, pages, preconditions and headers."""

import re
from typing import Annotated, Any, Final, Protocol, TypedDict, TypeVar
from uuid import UUID

from fastapi import Depends, Header, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import BaseModel

from remembrancer.access import Actor, Role, as_user
from remembrancer.api.endpoints import EndpointRequest, bearer, body_ids
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput
from remembrancer.memories.schemas import Outcome, RememberResult
from remembrancer.places.schemas import PlaceResult
from remembrancer.request_store import store_of
from remembrancer.user_names import AnyUser, UserRef
from remembrancer.validation import Model, as_id

_ETAG = re.compile(r'(?:W/)?"(?P<quoted>[0-9]{1,9})"|(?P<bare>[0-9]{1,9})')


async def application(request: Request) -> Remembrancer:
    """Return the store of the workspace that the key is of."""
    # Async, because FastAPI calls other functions in a thread.
    return store_of(request.scope)


App = Annotated[Remembrancer, Depends(application)]


async def authenticated(
    request: EndpointRequest,
    _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Actor:
    """Return the caller, whose key the endpoint has checked before FastAPI read the body."""
    await body_ids(request)
    assert request.caller is not None
    return request.caller


Caller = Annotated[Actor, Depends(authenticated)]


AgentQuery = Annotated[UUID | None, Query(description="The agent to act through.")]


async def request_actor(
    request: Request,
    actor: Caller,
    user_id: Annotated[UserRef | None, Query(description="The user to act for.")] = None,
    agent_id: AgentQuery = None,
) -> Actor:
    """Return the actor for the user and agent of the query or the body."""
    body = await body_ids(request)
    user = await _same_user(store_of(request.scope), actor, user_id, body.get("user_id"))
    return actor.acting_for(user, _same_agent(agent_id, body.get("agent_id")))


RequestActor = Annotated[Actor, Depends(request_actor)]


async def path_actor(
    request: Request, actor: Caller, user_id: UserRef, agent_id: AgentQuery = None
) -> Actor:
    """Return the actor for the user in the path and the agent of the query or the body."""
    body = await body_ids(request)
    return actor.acting_for(user_id, _same_agent(agent_id, body.get("agent_id")))


PathActor = Annotated[Actor, Depends(path_actor)]


async def _same_user(
    app: Remembrancer, actor: Actor, in_query: AnyUser | None, in_body: Any
) -> AnyUser | None:
    user = None if in_body is None else as_user(in_body)
    if user is None or in_query is None or user == in_query:
        return user or in_query
    # A user key gets no answer to whether two names are one user.
    ids = await app.database.user_ids([user, in_query]) if actor.role is not Role.USER else {}
    if ids.get(user) != ids.get(in_query, in_query):
        raise InvalidInput("is another user in the body than in the query", field="user_id")
    return in_query


def _same_agent(in_query: UUID | None, in_body: Any) -> UUID | None:
    agent_id = None if in_body is None else as_id(in_body, field="agent_id")
    if agent_id not in {None, in_query} and in_query is not None:
        raise InvalidInput("is another agent in the body than in the query", field="agent_id")
    return agent_id or in_query


def if_match(
    value: Annotated[str | None, Header(alias="If-Match", examples=['"3"'])] = None,
) -> int | None:
    """Return the version in If-Match, or None for any version."""
    if value is None or value.strip() == "*":
        return None
    tag = _ETAG.fullmatch(value.strip())
    if tag is None:
        raise InvalidInput("is not an ETag from an earlier answer", field="If-Match")
    return int(tag["quoted"] or tag["bare"])


IfMatch = Annotated[int | None, Depends(if_match)]

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A repeat with the same key within 24 hours returns the first answer.",
    ),
]


class PageArguments(TypedDict):
    """Arguments of a service that returns a page."""

    limit: int
    cursor: str | None


def page_arguments(
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, Query(max_length=1000, description="`next_cursor` of the previous page.")
    ] = None,
) -> PageArguments:
    """Return the page named in the query."""
    return {"limit": limit, "cursor": cursor}


Paging = Annotated[PageArguments, Depends(page_arguments)]


class HasVersion(Protocol):
    """A model with a version."""

    @property
    def version(self) -> int:
        """The current version."""


VersionedModel = TypeVar("VersionedModel", bound=HasVersion)


def narrowed(request: BaseModel, model: type[Model]) -> Model:
    """Return the fields of a validated request that ``model`` has, as that model."""
    values = {name: getattr(request, name) for name in model.model_fields}
    return model.model_construct(request.model_fields_set & values.keys(), **values)


def tagged(response: Response, model: VersionedModel) -> VersionedModel:
    """Set the ETag to the version of ``model`` and return it."""
    response.headers["ETag"] = f'"{model.version}"'
    return model


MENTIONED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "Known already: a mention was added."}
}


def set_status(response: Response, result: RememberResult | PlaceResult) -> None:
    """Set status 200 for a statement that is known already: 201 means created."""
    if result.outcome is not Outcome.CREATED:
        response.status_code = 200


def located(response: Response, result: RememberResult) -> RememberResult:
    """Set the status, ETag and Location of a remembered statement and return it."""
    set_status(response, result)
    tagged(response, result.memory)
    response.headers["Location"] = f"/api/memory/{result.memory.id}"
    return result
