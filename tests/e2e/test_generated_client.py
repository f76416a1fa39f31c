"""A client that a generator makes of the OpenAPI document, against a running server."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from helpers import ADMIN
from serving import served

from remembrancer import Remembrancer
from remembrancer.access import Role
from remembrancer.keys.schemas import KeyCreate

NOT_JSON = {
    ("POST", "/api/memory/users/{user_id}/agents/settings/import"),
    ("POST", "/api/memory/preferences/import"),
}
"""Operations with CSV, which the generator says it leaves out in part."""


@pytest.fixture(scope="module")
def document() -> str:
    """What the command line prints, and nothing beside it."""
    command = [sys.executable, "-m", "remembrancer", "openapi"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def generated(document: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The name of the package, importable, and what the generator said."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(document, "utf-8")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    paths = ["--path", "openapi.json", "--output-path", "generated_client"]
    ran = subprocess.run([*command, *paths], cwd=folder, capture_output=True, text=True, check=True)
    sys.path.insert(0, str(folder))
    yield "generated_client", ran.stdout + ran.stderr
    sys.path.remove(str(folder))


@pytest.fixture
async def server(memory: Remembrancer) -> AsyncIterator[tuple[str, str]]:
    """Its address, and the secret of a service key."""
    key = await memory.keys.create(ADMIN, KeyCreate(name="bot", role=Role.SERVICE))
    async with served(memory) as address:
        yield address, key.secret


def test_nothing_is_left_out_of_the_client(generated: tuple[str, str]) -> None:
    """The generator understands all but the bodies that are no JSON."""
    _, said = generated
    warned = set(re.findall(r"WARNING parsing (\w+) (\S+)", said))
    assert warned == NOT_JSON
    assert "Unable to process" not in said


async def test_a_bot_by_the_generated_client(
    generated: tuple[str, str], server: tuple[str, str]
) -> None:
    """Find or create a user and an agent, remember, recall, and be refused."""
    package, _ = generated
    address, secret = server

    def part(path: str) -> Any:
        return importlib.import_module(f"{package}.{path}")

    models = part("models")
    async with part("client").AuthenticatedClient(
        base_url=address, token=secret, timeout=60
    ) as client:
        ada = await part("api.users.resolve_user").asyncio(
            client=client,
            body=models.ResolveUser(
                platform="discord", platform_user_id="1844", display_name="Ada"
            ),
        )
        agent = await part("api.agents.create_agent").asyncio(
            client=client, body=models.AgentCreate(name="Kitchen helper")
        )
        statement = models.MemoryCreateForUserAndAgent(
            content="Ada prefers tea over coffee.", user_id=str(ada.id), agent_id=agent.id
        )
        remember = part("api.memory.remember")
        first = await remember.asyncio(client=client, body=statement)
        assert first.outcome == "created"
        again = await remember.asyncio_detailed(client=client, body=statement)
        assert again.status_code == 200
        assert again.parsed.memory.id == first.memory.id
        query = models.RecallQueryForUserAndAgent(
            query="What does Ada drink?", user_id="discord:1844", agent_id=agent.id
        )
        answer = await part("api.memory.recall").asyncio(client=client, body=query)
        assert [hit.content for hit in answer.hits] == ["Ada prefers tea over coffee."]
        refused = await part("api.memory.get_memory").asyncio(
            "m_00000000", client=client, user_id=str(ada.id)
        )
        assert isinstance(refused, models.Problem)
        assert refused.status in {404, 422}


async def test_a_server_has_the_same_document(document: str, application: FastAPI) -> None:
    """The command needs no server, and says the same."""
    assert json.loads(document) == application.openapi()


def test_every_operation_has_a_name_and_every_answer_a_body(document: str) -> None:
    """Names are words, once each; answers of JSON have a schema, refusals are problems."""
    names = []
    for path, operation in _operations(json.loads(document)):
        names.append(operation["operationId"])
        assert operation["summary"], path
        assert operation["description"], path
        assert len(operation["tags"]) == 1, path
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                assert list(answer["content"]) == ["application/problem+json"], (path, status)
            elif status != "204":
                schemas = [kind.get("schema") for kind in answer["content"].values()]
                assert all(schemas), (path, status)
    assert len(names) == len(set(names))
    assert not [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name)]


def test_names_of_models_are_words(document: str) -> None:
    """`AgentPage`, not `Page_Agent_`."""
    schemas = json.loads(document)["components"]["schemas"]
    assert not [name for name in schemas if not name.isalnum()]


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation
