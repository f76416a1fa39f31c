"""Routes that take every request at its word.

An unknown query parameter is refused, and so is one that is given twice. The user and the agent
to act for may be in the query or in the body.
"""

import json
import re
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard, TypeVar, get_origin
from urllib.parse import unquote

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.routing import Match, compile_path
from starlette.types import Scope

from remembrancer.access import Actor
from remembrancer.api.limits import allow_bytes
from remembrancer.api.problems import MEDIA_TYPE, Problem
from remembrancer.app import Remembrancer
from remembrancer.errors import InvalidInput, Unauthenticated, Unavailable
from remembrancer.request_store import check_workspace, store_of, take_store_of_bearer
from remembrancer.validation import MOST_CHOICES, check_names
from remembrancer.web import sessions

ACTING: Final = ("user_id", "agent_id")
_SCHEMA: Final = "#/components/schemas/{model}"
REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    # Not as a model, which FastAPI would prepare a thousand times: half of the import.
    status: {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": {"$ref": _SCHEMA.format(model="Problem")}}},
    }
    for status, description in {
        401: "The API key is missing or not valid.",
        403: "The key's role may not do this.",
        404: "It does not exist, or this actor may not see it.",
        409: "It conflicts with stored data.",
        412: "If-Match is not the current version.",
        408: "The body came too slowly.",
        413: "The body is too large.",
        422: "A field is wrong; the problem names it.",
        429: "Too many requests.",
        503: "The server has too much to do, or the database or a model does not answer.",
    }.items()
}

REPEATED: Final = Query(max_length=MOST_CHOICES, description="May be repeated.")

Handler = TypeVar("Handler", bound=Callable[..., object])

_GENERIC: Final = re.compile(r"\b(?P<kind>Items|Page)_(?P<items>\w+)_\b")
"""The name that a list of something has before it is named for its items."""
_MASK: Final = "\udfff"
"""Stands for an escaped slash: no decoded path has a lone surrogate."""
_CHECKING: Final[set[Callable[..., object]]] = set()
_BATCHES: Final[set[Callable[..., object]]] = set()
_MOST_LISTS: Final = 200_000
"""Objects and lists in a body: parsed, each takes up to thirty times its bytes."""

bearer: Final = HTTPBearer(
    auto_error=False, description="An API key, made with `remembrancer keys`."
)


def takes_batch(handler: Handler) -> Handler:
    """Allow bodies of up to ``limits.batch_bytes``."""
    _BATCHES.add(handler)
    return handler


def checks_key(handler: Handler) -> Handler:
    """Leave the check of the API key to the first statements of the request's actor.

    For endpoints whose first use of the database is a transaction of that actor: it makes the check
    in a round trip of its own unnecessary.
    """
    _CHECKING.add(handler)
    return handler


class Endpoint(APIRoute):
    """A route whose parameters are all known, with the acting ids in query or body.

    It is built when it is first used: that takes milliseconds, and there are 150 of them.
    """

    def __init__(self, path: str, endpoint: Callable[..., object], **options: Any) -> None:
        self.path, self.endpoint = path, endpoint
        self.methods = {method.upper() for method in options["methods"]}
        self._start = path.partition("{")[0]
        self._options = options

    def __getattr__(self, name: str) -> Any:
        """Build the route, or for a match its pattern only."""
        if "_options" not in self.__dict__:
            raise AttributeError(name)
        if name in {"path_regex", "param_convertors"}:
            self.path_regex, self.path_format, self.param_convertors = compile_path(self.path)
        else:
            super().__init__(self.path, self.endpoint, **self.__dict__.pop("_options"))
        return getattr(self, name)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match a request. Most routes of a list differ in their first letters."""
        if not scope["path"].startswith(self._start):
            return Match.NONE, {}
        raw = scope.get("raw_path", b"").replace(b"%2f", b"%2F")
        if b"%2F" not in raw:
            return super().matches(self._without_slash(scope))
        # An escaped slash is one of an id: it ends no part of the path.
        masked = _MASK.join(unquote(part.decode("latin-1")) for part in raw.split(b"%2F"))
        match, child = super().matches(self._without_slash({**scope, "path": masked}))
        ids = child.get("path_params", {})
        child["path_params"] = {name: value.replace(_MASK, "/") for name, value in ids.items()}
        return match, child

    def _without_slash(self, scope: Scope) -> Scope:
        """Leave out a slash at the end, which makes no difference."""
        path = scope["path"]
        # An id that is empty by mistake must not make a deletion one of the whole list.
        if not path.endswith("/") or scope["method"] == "DELETE" or self.path.endswith(":path}"):
            return scope
        return {**scope, "path": path[:-1]}

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler behind the checks."""
        handle = super().get_route_handler()
        known = dict(_query_parameters(self.dependant))
        lists = {name for name, is_list in known.items() if is_list}
        fields = self._body_fields()
        acting = [name for name in ACTING if name in known and name not in fields]
        has_body = self.body_field is not None or "requestBody" in (self.openapi_extra or {})

        needs_key = bearer in _calls(self.dependant)
        checks_key_later = self.endpoint in _CHECKING
        is_batch = self.endpoint in _BATCHES

        async def checked(request: Request) -> Response:
            names = [name for name, _ in request.query_params.multi_items()]
            check_names(names, known, lists=lists, elsewhere=fields, place="JSON body")
            asked = EndpointRequest(request, acting, has_body=has_body, in_query=known)
            if is_batch:
                allow_bytes(request.scope, asked.memory.settings.limits.batch_bytes)
            if needs_key:
                # Before FastAPI reads the body, which it does before all dependencies.
                await asked.authenticate(check_later=checks_key_later)
            try:
                response = await handle(asked)
            except Exception as error:
                if not asked.is_check_due or isinstance(error, Unavailable | HTTPException):
                    raise
                # Perhaps for what was known of the key: ask again with a key that is checked.
                await asked.authenticate(check_later=False)
                return await handle(asked)
            if asked.is_check_due:
                raise RuntimeError("the endpoint left the key unchecked")
            return response

        return checked

    def _body_fields(self) -> set[str]:
        model = self.body_field.field_info.annotation if self.body_field else None
        return set(model.model_fields) if _is_model(model) else set()


class Router(APIRouter):
    """A router of such routes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            route_class=Endpoint,
            responses=REFUSALS,
            generate_unique_id_function=lambda route: route.name,
            **options,
        )


class EndpointRequest(Request):
    """A request whose acting ids are taken out of its body."""

    caller: Actor | None = None

    def __init__(
        self,
        request: Request,
        acting: Sequence[str],
        *,
        has_body: bool,
        in_query: Collection[str] = (),
    ) -> None:
        super().__init__(request.scope, request.receive)
        self.has_body = has_body
        self.in_query = in_query
        self.ids: dict[str, Any] = {}
        self._acting = acting

    @property
    def memory(self) -> Remembrancer:
        """The store of the workspace that the key is of."""
        return store_of(self.scope)

    @property
    def is_check_due(self) -> bool:
        """Whether no statement has checked the key yet."""
        check = self.caller.key_check if self.caller else None
        return check is not None and check.is_due

    async def authenticate(self, *, check_later: bool) -> None:
        """Find the caller by the API key or, for reads only, by the session of a browser."""
        credentials = await bearer(self)
        is_counted = self.caller is not None
        if credentials is not None:
            secret = credentials.credentials
            if not is_counted:
                await take_store_of_bearer(self.scope, secret)
            self.caller = await self.memory.keys.authenticate(
                secret, entry_point="rest", check_later=check_later and self.memory.is_usable
            )
            check_workspace(self.scope, is_new=not is_counted)
            if not is_counted:
                self.app.state.rate_limit.count(str(self.caller.key_id or self.caller.user_id))
            return
        # Other sites can make a browser send its cookie: it allows reads only.
        if self.method in {"GET", "HEAD"}:
            session = await sessions.find(self)
            self.caller = session.actor if session else None
        if self.caller is None:
            raise Unauthenticated(
                "send an API key: Authorization: Bearer …; `remembrancer keys create` makes one"
            )

    async def json(self) -> Any:
        """Return the body without the acting ids."""
        content = await self.body()
        if content.count(b"{") + content.count(b"[") > _MOST_LISTS:
            raise HTTPException(413, f"the body has more than {_MOST_LISTS:,} objects and lists")
        body = await super().json()
        if isinstance(body, dict):
            self.ids |= {name: body.pop(name) for name in self._acting if name in body}
        return body


async def body_ids(request: Request) -> Mapping[str, Any]:
    """Return the acting ids of the body.

    Raises ``InvalidInput`` for anything else in the body of a request that takes none.
    """
    if not isinstance(request, EndpointRequest):
        return {}
    if not request.has_body and request.method not in {"GET", "HEAD"} and await request.body():
        try:
            rest = await request.json()
        except (ValueError, RecursionError):
            raise InvalidInput("is not valid JSON", field="body") from None
        if not isinstance(rest, dict):
            raise InvalidInput("must be an object", field="body")
        check_names(rest, (), elsewhere=request.in_query, place="query")
    return request.ids


def _calls(dependant: Dependant) -> Iterator[Callable[..., object] | None]:
    for dependency in dependant.dependencies:
        yield dependency.call
        yield from _calls(dependency)


def _query_parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Yield the name of each query parameter, and whether it may be repeated."""
    for field in dependant.query_params:
        annotation = field.field_info.annotation
        if _is_model(annotation):
            for name, info in annotation.model_fields.items():
                yield info.alias or name, get_origin(info.annotation) is list
        else:
            yield field.alias, get_origin(annotation) is list
    for dependency in dependant.dependencies:
        yield from _query_parameters(dependency)


def _is_model(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """Return an OpenAPI document with all that generators of clients need.

    Refusals, the acting ids in bodies, and the body of each answer. Titles of single fields, which
    repeat their names, would become names of types.
    """
    schemas = document["components"]["schemas"]
    problem = Problem.model_json_schema(ref_template=_SCHEMA)
    schemas |= {**problem.pop("$defs"), "Problem": problem}
    for operation in (o for path in document["paths"].values() for o in path.values()):
        answers = operation["responses"]
        if "201" in answers and "200" in answers:
            answers["200"].setdefault("content", answers["201"]["content"])
        query = {p["name"]: p for p in operation.get("parameters", ()) if p["in"] == "query"}
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        name = content["schema"].get("$ref", "").rpartition("/")[2] if content else ""
        added = {
            id_: {**query[id_]["schema"], "description": query[id_].get("description", "")}
            for id_ in ACTING
            if id_ in query and name and id_ not in schemas[name]["properties"]
        }
        if added:
            # The same model may be the body of a route that takes none of them.
            title = name + "For" + "And".join(id_.split("_")[0].title() for id_ in added)
            properties = {**schemas[name]["properties"], **added}
            schemas[title] = {**schemas[name], "title": title, "properties": properties}
            content["schema"] = {"$ref": f"#/components/schemas/{title}"}
    used = json.dumps(document)
    for name in [name for name in schemas if f'schemas/{name}"' not in used]:
        del schemas[name]
    _leave_out_titles([document["paths"], schemas])
    return dict(json.loads(_GENERIC.sub(_name_of_list, json.dumps(document))))


def _name_of_list(found: re.Match[str]) -> str:
    items = found["items"].removeprefix("Union_").strip("_")
    return "Or".join(items.split("__")) + found["kind"]


def _leave_out_titles(part: object) -> None:
    """Leave out the titles of all schemas but models and enums."""
    parts = part if isinstance(part, list) else part.values() if isinstance(part, dict) else ()
    for inner in parts:
        _leave_out_titles(inner)
        if (
            isinstance(inner, dict)
            and isinstance(inner.get("title"), str)
            and "version" not in inner
        ):
            inner.pop("title")
