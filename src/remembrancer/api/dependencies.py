"""What endpoints share: application, actor, pages, preconditions and headers."""

import re
from typing import Annotated, Any, Final, Protocol, TypedDict, TypeVar
from uuid import UUID

from fastapi import Depends, Header, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput, Unauthenticated
from remembrancer.memories.schemas import Outcome, RememberResult
from remembrancer.places.schemas import PlaceResult
from remembrancer.validation import Input, Model

_ETAG = re.compile(r'(?:W/)?"(?P<quoted>[0-9]{1,9})"|(?P<bare>[0-9]{1,9})')
_bearer = HTTPBearer(auto_error=False, description="An API key, made with `remembrancer keys`.")


def application(request: Request) -> Remembrancer:
    """Return the application that this server serves."""
    app: Remembrancer = request.app.state.memory
    return app


App = Annotated[Remembrancer, Depends(application)]


async def authenticated(
    request: Request,
    app: App,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Actor:
    """Return the actor of an API key or, for reads only, of a browser's session."""
    if credentials is not None:
        caller = await app.keys.authenticate(credentials.credentials, entry_point="rest")
        request.app.state.rate_limit.count(str(caller.key_id))
        return caller
    # Other sites can make a browser send its cookie: it allows reads only.
    if request.method in {"GET", "HEAD"}:
        actor: Actor | None = await request.app.state.sessions.actor(request, app)
        if actor is not None:
            return actor
    raise Unauthenticated("send an API key: Authorization: Bearer …")


Caller = Annotated[Actor, Depends(authenticated)]


def query_actor(
    actor: Caller,
    user_id: Annotated[UUID | None, Query(description="The user to act for.")] = None,
    agent_id: Annotated[UUID | None, Query(description="The agent to act through.")] = None,
) -> Actor:
    """Return the actor for the user and agent named in the query."""
    return actor.acting_for(user_id, agent_id)


QueryActor = Annotated[Actor, Depends(query_actor)]


def path_actor(
    actor: Caller,
    user_id: UUID,
    agent_id: Annotated[UUID | None, Query(description="The agent to act through.")] = None,
) -> Actor:
    """Return the actor for the user in the path and the agent in the query."""
    return actor.acting_for(user_id, agent_id)


PathActor = Annotated[Actor, Depends(path_actor)]


class ActorRequest(Input):
    """A body that names the user to act for and the agent to act through."""

    user_id: UUID | None = Field(None, description="The user to act for.")
    agent_id: UUID | None = Field(None, description="The agent to act through.")

    def actor(self, caller: Actor) -> Actor:
        """Return the actor for the user and agent of the body."""
        return caller.acting_for(self.user_id, self.agent_id)


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
