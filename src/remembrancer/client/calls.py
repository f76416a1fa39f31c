"""What a method of the client comes to: one request, and how to read its answer. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote
from uuid import UUID, uuid4

from pydantic import BaseModel, TypeAdapter

T_co = TypeVar("T_co", covariant=True)

Many = list
"""The type, where a method is called ``list``."""
SAFE: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """A request, and the type of its answer."""

    method: str
    path: str
    answer: Any = None
    """What the body is read as; nothing is read without it."""
    inside: str | None = None
    """The field of the body that holds the answer."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    """Whether sending it twice does no more than sending it once."""

    def read(self, body: bytes) -> T_co:
        """Return the answer in ``body``; raise ``ValueError`` if there is none."""
        if self.answer is None:
            return None  # type: ignore[return-value]
        adapter = _adapter(self.answer)
        if self.inside is None:
            return adapter.validate_json(body)  # type: ignore[no-any-return]
        return adapter.validate_python(_adapter(dict[str, Any]).validate_json(body)[self.inside])  # type: ignore[no-any-return]


@cache
def _adapter(answer: Any) -> TypeAdapter[Any]:
    return TypeAdapter(answer)


def call(
    method: str,
    path: str,
    answer: Any = None,
    *,
    inside: str | None = None,
    query: Mapping[str, Any] | None = None,
    body: Any = None,
    key: str | None = None,
    keyed: bool = False,
    if_version: int | None = None,
    safe: bool = False,
) -> Call[Any]:
    """Return a request. One that is ``keyed`` gets an idempotency key if it has none.

    ``safe`` says of a POST that it only reads, or that doing it again changes nothing.
    """
    headers = {}
    if keyed or key is not None:
        headers["Idempotency-Key"] = key if key is not None else uuid4().hex
    if if_version is not None:
        headers["If-Match"] = f'"{if_version}"'
    return Call(
        method,
        path,
        answer,
        inside,
        {name: value for name, value in (query or {}).items() if value not in (None, [])},
        sent(body),
        headers,
        repeatable=method in SAFE or keyed or safe,
    )


def sent(value: Any) -> Any:
    """Return ``value`` as JSON values; of models, what was set."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_unset=True, by_alias=True)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {name: sent(one) for name, one in value.items() if one is not None}
    if isinstance(value, list | tuple):
        return [sent(one) for one in value]
    return value


def with_whom(
    model: BaseModel, user_id: UUID | None, agent_id: UUID | None = None
) -> dict[str, Any]:
    """Return what a model sends, and for whom."""
    return {**sent(model), **whom(user_id, agent_id)}


def whom(user_id: UUID | None = None, agent_id: UUID | None = None) -> dict[str, str]:
    """Return for whom a request is, as it is sent."""
    given = {"user_id": user_id, "agent_id": agent_id}
    return {name: str(value) for name, value in given.items() if value is not None}


def part(value: object) -> str:
    """Return a part of a path; a slash or a dot in it leads nowhere else."""
    quoted = quote(str(value), safe="", errors="surrogatepass")
    return quoted.replace(".", "%2E") if set(quoted) == {"."} else quoted
