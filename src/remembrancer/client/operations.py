"""One declaration of an operation for both clients: awaited on one, called on the other.

An endpoint and a signature declare a method; it has no body. Arguments named in the path go
there, models go into the body, and all others into the query.
"""

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, update_wrapper
from inspect import Parameter, Signature, signature
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    TypedDict,
    TypeVar,
    get_args,
    get_type_hints,
    overload,
)
from uuid import UUID, uuid4

from pydantic import BaseModel

from remembrancer.agents.schemas import Agent
from remembrancer.client.calls import Call, json_of, part
from remembrancer.client.transport import AsyncHttp, Http
from remembrancer.errors import InvalidInput
from remembrancer.paging import AsyncPages, Page
from remembrancer.user_names import AnyUser
from remembrancer.users.schemas import User
from remembrancer.validation import model_of

P = ParamSpec("P")
T = TypeVar("T")
PageT_co = TypeVar("PageT_co", covariant=True)
Item = TypeVar("Item")
Shape = Callable[[dict[str, Any]], Any]
"""Makes the body or query of a request from the arguments of a call."""

_IN_QUERY: Final = {
    "kinds": "kind",
    "categories": "category",
    "statuses": "status",
    "reviews": "review",
    "external_ids": "external_id",
}
_READS: Final = frozenset({"GET", "HEAD"})


class Paging(TypedDict, total=False):
    """A page of a list: 50 items unless ``limit`` says otherwise, from 1 to 200."""

    limit: int
    cursor: str | None


class ForUser(TypedDict, total=False):
    """The user a service acts for: an id, ``platform:id`` or a user. A user's key needs none."""

    user: User | AnyUser | None


class ForAgent(ForUser, total=False):
    """The user a service acts for and the agent it acts through: ids or objects."""

    agent: Agent | UUID | None


class ForAgentPage(ForAgent, Paging, total=False):
    """A page of a list, for a user and an agent."""


class ForUserPage(ForUser, Paging, total=False):
    """A page of a list, for a user."""


class Once(TypedDict, total=False):
    """A request that is carried out once; a repeat with its key returns the first answer."""

    idempotency_key: str | None


class ForUserOnce(ForUser, Once, total=False):
    """A request for a user that is carried out once."""


class ForAgentOnce(ForAgent, Once, total=False):
    """A request for a user and an agent that is carried out once."""


class IfVersion(TypedDict, total=False):
    """A change that fails with ``PreconditionFailed`` unless this is the current version."""

    if_version: int | None


class ForAgentIfVersion(ForAgent, IfVersion, total=False):
    """A change of one version, for a user and an agent."""


By = TypeVar("By", bound=AsyncHttp | Http)


class Group(Generic[By]):
    """Operations of one noun."""

    def __init__(self, sender: By) -> None:
        self.sender: Any = sender


@dataclass(frozen=True, slots=True)
class _Options:
    body: Shape | None = None
    query: Shape | None = None
    ids: str = "query"
    inside: str | None = None
    safe: bool = False
    model: tuple[str, type[BaseModel]] | None = None


class _Operation:
    def __init__(
        self, function: Callable[..., Any], endpoint: str, options: _Options | None = None
    ) -> None:
        self.endpoint = endpoint
        self.method, self.path = endpoint.split(" ")
        self._function = function
        self._options = options or _Options()
        self.signature = _signature(function)
        self._actor_names = [
            name
            for name, parameter in self.signature.parameters.items()
            if name in {"user", "agent"} and parameter.kind is Parameter.KEYWORD_ONLY
        ]
        self._names = re.findall(r"{(\w+)}", self.path)
        update_wrapper(self, function)  # type: ignore[arg-type]

    @cached_property
    def answer(self) -> Any:
        """Type of the result, or of one line of it."""
        return get_type_hints(self._function)["return"]

    def call(self, *args: Any, **kwargs: Any) -> Call[Any]:
        """Return the request for these arguments."""
        options = self._options
        try:
            bound = self.signature.bind(None, *args, **kwargs)
        except TypeError as error:
            name = self._function.__qualname__.removeprefix("_Nouns.")
            raise TypeError(f"{name}() {error}") from None
        given = set(bound.arguments)
        bound.apply_defaults()
        arguments: dict[str, Any] = dict(list(bound.arguments.items())[1:])
        if options.model is not None:
            name, model = options.model
            fields = {field: arguments.pop(field, None) for field in model.model_fields}
            fields = {field: value for field, value in fields.items() if field in given}
            arguments[name] = model_of(model, arguments[name], fields)
        query = None if options.query is None else json_of(options.query(arguments))
        path = self.path.format(**{name: _part(name, arguments.pop(name)) for name in self._names})
        repeatable = (
            self.method in _READS
            or options.safe
            or "idempotency_key" in arguments
            or arguments.get("dry_run", False)
        )
        headers = _headers(arguments)
        names = [name for name in self._actor_names if name in arguments]
        ids = json_of({f"{name}_id": _id(arguments.pop(name)) for name in names})
        body = self._take_body(arguments)
        query = _query(arguments) if query is None else query
        if options.ids == "body":
            body = {**(body or {}), **ids}
        else:
            query = {**query, **ids}
        answer = None if self.answer is type(None) else self.answer
        return Call(self.method, path, answer, options.inside, query, body, headers, repeatable)

    def _take_body(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return the body, and remove its parts from the arguments."""
        if self._options.body is not None:
            body: dict[str, Any] = self._options.body(arguments)
            arguments.clear()
            return body
        if self.method in {"GET", "DELETE"}:
            return None
        models = {name: value for name, value in arguments.items() if isinstance(value, BaseModel)}
        for name in models:
            del arguments[name]
        fields = {k: v for model in models.values() for k, v in json_of(model).items()}
        return fields if models else None

    def bound(self, send: Callable[[Call[Any]], Any]) -> Callable[..., Any]:
        """Return the method of a group."""

        def method(*args: Any, **kwargs: Any) -> Any:
            return send(self.call(*args, **kwargs))

        update_wrapper(method, self._function)
        parameters = list(self.signature.parameters.values())[1:]
        method.__signature__ = self.signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return method


def _headers(arguments: dict[str, Any]) -> dict[str, str]:
    headers = {}
    if "idempotency_key" in arguments:
        key = arguments.pop("idempotency_key")
        headers["Idempotency-Key"] = key if key is not None else uuid4().hex
    if (version := arguments.pop("if_version", None)) is not None:
        headers["If-Match"] = f'"{version}"'
    return headers


def _query(arguments: Mapping[str, Any]) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for name, value in arguments.items():
        fields = json_of(value) if isinstance(value, BaseModel) else {name: json_of(value)}
        query.update((_IN_QUERY.get(field, field), content) for field, content in fields.items())
    return {name: value for name, value in query.items() if value not in (None, [])}


def _id(value: Any) -> Any:
    return getattr(value, "id", value)


def _part(name: str, value: Any) -> str:
    if value is None:
        raise InvalidInput("is missing: pass an id or a user", field=name)
    return part(_id(value))


def _signature(function: Callable[..., Any]) -> Signature:
    """Return the signature with each keyword of an unpacked ``TypedDict``."""
    parameters: list[Parameter] = []
    for parameter in signature(function).parameters.values():
        unpacked = get_args(parameter.annotation)
        if parameter.kind is Parameter.VAR_KEYWORD and unpacked:
            parameters += [
                Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
                for name, annotation in get_type_hints(unpacked[0]).items()
            ]
        else:
            parameters.append(parameter)
    return Signature(parameters, return_annotation=signature(function).return_annotation)


class Operation(_Operation, Generic[P, T]):
    """A method that is one request."""

    @overload
    def __get__(
        self, group: Group[AsyncHttp], owner: Any = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, group: Group[Http], owner: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "Operation[P, T]": ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        """Return the method of a client, sync or async."""
        return self if group is None else self.bound(group.sender.send)


class Stream(_Operation, Generic[P, T]):
    """A method whose response is a file, in parts."""

    @overload
    def __get__(
        self, group: Group[AsyncHttp], owner: Any = None
    ) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, group: Group[Http], owner: Any = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "Stream[P, T]": ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        """Return the method of a client, sync or async."""
        return self if group is None else self.bound(group.sender.parts)


class Pages(Generic[P, PageT_co]):
    """A list in pages: call it for one page, or iterate over :meth:`each` item."""

    def __init__(self, request_page: Callable[..., Any]) -> None:
        self._request_page = request_page

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> PageT_co:
        """Return one page; its ``next_cursor`` is the ``cursor`` of the next."""
        page: PageT_co = self._request_page(*args, **kwargs)
        return page

    def each(self: "Pages[P, Page[Item]]", *args: P.args, **kwargs: P.kwargs) -> Iterator[Item]:
        """Yield all items, requesting page after page."""
        page: Page[Item] = self._request_page(*args, **kwargs)
        while True:
            yield from page.items
            if page.next_cursor is None:
                return
            page = self._request_page(*args, **{**kwargs, "cursor": page.next_cursor})


class PagedOperation(_Operation, Generic[P, PageT_co]):
    """A method that returns a list in pages."""

    @overload
    def __get__(self, group: Group[AsyncHttp], owner: Any = None) -> AsyncPages[P, PageT_co]: ...
    @overload
    def __get__(self, group: Group[Http], owner: Any = None) -> Pages[P, PageT_co]: ...
    @overload
    def __get__(self, group: None, owner: Any = None) -> "PagedOperation[P, PageT_co]": ...
    def __get__(self, group: Any, owner: Any = None) -> Any:
        """Return the method of a client, sync or async."""
        if group is None:
            return self
        pages = AsyncPages if group.sender.is_async else Pages
        method = self.bound(group.sender.send)
        return update_wrapper(pages(method), method)


def operation(
    endpoint: str,
    *,
    body: Shape | None = None,
    query: Shape | None = None,
    ids: str = "query",
    inside: str | None = None,
    safe: bool = False,
    model: tuple[str, type[BaseModel]] | None = None,
) -> Callable[[Callable[Concatenate[Any, P], T]], Operation[P, T]]:
    """Declare a method that is one request to an endpoint such as ``GET /api/users``.

    ``body`` and ``query`` make these from the arguments. ``ids`` is the part of the request
    with the ids of user and agent.
    ``inside`` names the field of the response to return. A ``safe`` POST may be repeated.
    ``model`` is an argument whose fields may be keywords instead.
    """

    options = _Options(body, query, ids, inside, safe, model)
    return lambda function: Operation(function, endpoint, options)


def stream(endpoint: str) -> Callable[[Callable[Concatenate[Any, P], T]], Stream[P, T]]:
    """Declare a method whose response is a file."""
    return lambda function: Stream(function, endpoint)


def listing(
    endpoint: str, *, model: tuple[str, type[BaseModel]] | None = None
) -> Callable[[Callable[Concatenate[Any, P], PageT_co]], PagedOperation[P, PageT_co]]:
    """Declare a method that returns a list in pages."""
    return lambda function: PagedOperation(function, endpoint, _Options(model=model))
