"""The REST API, asked over HTTP."""

import json
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
from helpers import Api

from entry_points.base import Door, Json, Refused, id_of
from remembrancer import (
    User,
)


@dataclass(frozen=True)
class RestCalls(Door):
    """Sends requests with the key of the door."""

    api: Api
    headers: dict[str, str]

    async def of(self, user: User) -> "RestCalls":
        return replace(self, headers=await self.api.key_of(user))

    async def as_admin(self) -> "RestCalls":
        return replace(self, headers=self.api.admin)

    async def _send(
        self, method: str, path: str, body: Any = None, *, headers: Any = None, **query: Any
    ) -> Any:
        sent = {**self.headers, **{k: str(v) for k, v in (headers or {}).items() if v is not None}}
        asked = [
            (name, json.dumps(one) if isinstance(one, dict) else str(one))
            for name, value in query.items()
            if value is not None
            for one in (value if isinstance(value, list) else [value])
        ]
        if asked:
            path += "?" + urlencode(asked, errors="surrogatepass")
        response = await self.api.client.request(
            method, path, headers=sent | JSON_TYPE, content=encoded(body)
        )
        return answer_of(response)


JSON_TYPE = {"Content-Type": "application/json"}


IN_QUERY = {
    "kinds": "kind",
    "categories": "category",
    "statuses": "status",
    "reviews": "review",
    "external_ids": "external_id",
}


def path_of(memory_id: str) -> str:
    return f"/api/memory/{quote(memory_id, safe='', errors='surrogatepass')}"


def spot_of(user: Any, place_id: str) -> str:
    return f"/api/users/{id_of(user)}/places/{quote(place_id, safe='', errors='surrogatepass')}"


def whom(user: Any = None, agent: Any = None) -> Json:
    ids = {"user_id": id_of(user), "agent_id": id_of(agent)}
    return {name: str(value) for name, value in ids.items() if value is not None}


def encoded(body: Any) -> bytes | None:
    # Escapes what is not ASCII, so that lone surrogates travel as some clients send them.
    return None if body is None else json.dumps(body, default=str).encode()


def answer_of(response: httpx2.Response) -> Any:
    if response.is_success:
        return response.json() if response.content else None
    assert response.headers["content-type"] == "application/problem+json", response.text
    document = response.json()
    fields = [error["field"] for error in document.pop("errors")]
    for name in ("type", "title", "detail", "request_id"):
        assert document.pop(name), response.text
    assert document.pop("status") == response.status_code
    raise Refused(response.status_code, fields, **document)


def settings_of(user: Any, agent: Any = None, last: str = "settings") -> str:
    parts = ["/api/memory/users", id_of(user), "agents", id_of(agent), last]
    return "/".join(str(part) for part in parts if part is not None)


def file_of(user: Any) -> str:
    return "/api/memory/preferences" if user is None else settings_of(user)
