"""Dependencies of the endpoints: application, actor, preconditions."""

import re
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Query, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

from remembrancer.access import Actor
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput, Unauthenticated
from remembrancer.validation import Model

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
    """Return who sent the request, by API key or, to look only, by a browser's session."""
    if credentials is not None:
        caller = await app.keys.authenticate(credentials.credentials, entry_point="rest")
        request.app.state.rate_limit.count(str(caller.key_id))
        return caller
    # A cookie travels with requests that other sites cause, so it never changes anything.
    if request.method in {"GET", "HEAD"}:
        actor: Actor | None = await request.app.state.sessions.actor(request, app)
        if actor is not None:
            return actor
    raise Unauthenticated("send an API key: Authorization: Bearer …")


Authenticated = Annotated[Actor, Depends(authenticated)]


def acting(
    actor: Authenticated,
    user_id: Annotated[UUID | None, Query(description="The user to act for.")] = None,
    agent_id: Annotated[UUID | None, Query(description="The agent to act through.")] = None,
) -> Actor:
    """Return the actor for the user and agent named in the query."""
    return actor.acting_for(user_id, agent_id)


Acting = Annotated[Actor, Depends(acting)]


def if_match(
    value: Annotated[str | None, Header(alias="If-Match", examples=['"3"'])] = None,
) -> int | None:
    """Return the version an update asks to be current."""
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
        description="The same key and request are carried out once, within a day.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[
    str | None, Query(max_length=1000, description="`next_cursor` of the page before.")
]


def narrowed(request: BaseModel, model: type[Model]) -> Model:
    """Return the part of a validated request that is a ``model``; its values are not copied."""
    values = {name: getattr(request, name) for name in model.model_fields}
    return model.model_construct(request.model_fields_set & values.keys(), **values)


def tag(response: Response, version: int) -> None:
    """Set the ETag of an answer that has a version."""
    response.headers["ETag"] = f'"{version}"'
