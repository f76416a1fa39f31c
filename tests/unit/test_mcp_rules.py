"""Pages of long answers, and the configuration of clients."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from remembrancer import (
    DocumentMetadata,
    InvalidInput,
    MemoryDocument,
    MemoryFact,
    MemoryHistory,
    PlacePoi,
)
from remembrancer.document.pages import LATEST, PER_PAGE, page_of
from remembrancer.mcp.resources import PER_PAGE as VERSIONS
from remembrancer.mcp.resources import history_page
from remembrancer.mcp_clients import ClientName, location, merge, server_entry
from remembrancer.memories.schemas import MemoryVersion

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def document(facts: int, mentions: int = 0) -> MemoryDocument:
    said: Any = {
        "": [("", NOW + timedelta(minutes=n)) for n in range(0, mentions, 2)],
        str(UUID(int=1)): [("", NOW + timedelta(minutes=n)) for n in range(1, mentions, 2)],
    }
    return MemoryDocument.model_construct(
        facts=[MemoryFact(id=f"f{n}", content="x", added_at=NOW) for n in range(facts)],
        placer_user_datapoints=[
            PlacePoi(place_id="home", place_name="Home", mentioned_in=said, added_at=NOW)
        ],
        metadata=DocumentMetadata(
            last_updated=NOW,
            total_facts=facts,
            total_active_facts=facts,
            total_pois=1,
            token_count=0,
        ),
    )


@pytest.mark.parametrize("facts", [0, 1, PER_PAGE, PER_PAGE + 1, 3 * PER_PAGE])
def test_pages_of_a_document_have_each_fact_once(facts: int) -> None:
    """In order, at most so many a page, and the last one says that it is."""
    number: int | None = 1
    seen = []
    while number is not None:
        page = page_of(document(facts), number)
        assert len(page.facts) <= PER_PAGE
        seen += [fact.id for fact in page.facts]
        number = page.next_page
    assert seen == [f"f{n}" for n in range(facts)]
    assert page_of(document(facts), 9).facts == []


def test_a_page_shows_the_latest_mentions_of_a_place() -> None:
    """A place that came up a thousand times is told with the last hundred, wherever they were."""
    [place] = page_of(document(0, 1000), 1).placer_user_datapoints
    times = sorted(at for _, _, at in place.mentions())
    assert times == [NOW + timedelta(minutes=n) for n in range(1000 - LATEST, 1000)]
    [short] = page_of(document(0, 7), 1).placer_user_datapoints
    assert len(list(short.mentions())) == 7


@pytest.mark.parametrize("versions", [1, VERSIONS, VERSIONS + 1, 3 * VERSIONS + 2])
def test_pages_of_a_history_begin_with_the_latest(versions: int) -> None:
    """Each has its versions oldest first; all pages together have each version once."""
    history = MemoryHistory.model_construct(
        versions=[MemoryVersion.model_construct(version=n) for n in range(1, versions + 1)],
        mentions=[],
    )
    number: int | None = 1
    seen: list[int] = []
    while number is not None:
        page = history_page(history, number)
        shown = [one["version"] for one in page["versions"]]
        assert len(shown) <= VERSIONS
        seen = shown + seen
        number = page["next_page"]
    assert seen == list(range(1, versions + 1))


def test_a_configuration_keeps_what_is_there() -> None:
    """Other servers, other settings, and their order; its own entry is replaced."""
    there = {"theme": "dark", "mcpServers": {"files": {"command": "x"}, "remembrancer": {}}}
    made = merge(ClientName.CURSOR, there, {"command": "y"})
    assert made == {
        "theme": "dark",
        "mcpServers": {"files": {"command": "x"}, "remembrancer": {"command": "y"}},
    }
    assert there["mcpServers"] == {"files": {"command": "x"}, "remembrancer": {}}
    assert list(made) == ["theme", "mcpServers"]
    assert merge(ClientName.CURSOR, made, {"command": "y"}) == made


@pytest.mark.parametrize("there", [[], "x", {"servers": []}, {"inputs": {}}])
def test_a_configuration_that_is_none_is_refused(there: Any) -> None:
    """Nothing is guessed about a file that is not as the client writes it."""
    wanted = server_entry(ClientName.VSCODE, ["x"], url="http://127.0.0.1:1")
    with pytest.raises(InvalidInput, match="file: "):
        merge(ClientName.VSCODE, there, wanted)


def test_no_configuration_holds_a_key() -> None:
    """Clients that reach a server by its address are told where the key is, not what it is."""
    for client in ClientName:
        made = server_entry(
            client, ["remembrancer", "mcp"], url="http://127.0.0.1:8420/", query="?a=b"
        )
        if client is ClientName.CLAUDE_DESKTOP:
            assert made == {"command": "remembrancer", "args": ["mcp"]}
        else:
            assert made["url"] == "http://127.0.0.1:8420/mcp?a=b"
            assert "${" in made["headers"]["Authorization"]
    twice = merge(ClientName.VSCODE, merge(ClientName.VSCODE, {}, made), made)
    assert len(twice["inputs"]) == 1


def test_documented_configurations_are_those_that_are_made() -> None:
    """What docs/mcp.md shows for each client is what ``mcp install`` prints."""
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    shown = [json.loads(one) for one in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    started = server_entry(ClientName.CLAUDE_DESKTOP, ["remembrancer", "mcp"], url=None)
    assert shown[0] == merge(ClientName.CLAUDE_DESKTOP, {}, started)
    others = (ClientName.CLAUDE_CODE, ClientName.CURSOR, ClientName.VSCODE)
    for client, one in zip(others, shown[2:], strict=True):
        assert one == merge(client, {}, server_entry(client, [], url="http://127.0.0.1:8420"))


def test_each_system_has_its_place() -> None:
    """Files lie where each client looks for them."""
    home, here = Path("/home/ada"), Path("/home/ada/boat")

    def where(client: ClientName, system: str = "linux") -> str:
        return location(client, home=home, project=here, system=system, roaming="").as_posix()

    desktop = ClientName.CLAUDE_DESKTOP
    last = "Claude/claude_desktop_config.json"
    assert where(desktop) == f"/home/ada/.config/{last}"
    assert where(desktop, "darwin") == f"/home/ada/Library/Application Support/{last}"
    assert where(desktop, "win32") == f"/home/ada/AppData/Roaming/{last}"
    assert where(ClientName.CLAUDE_CODE) == "/home/ada/boat/.mcp.json"
    assert where(ClientName.CURSOR) == "/home/ada/.cursor/mcp.json"
    assert where(ClientName.VSCODE) == "/home/ada/boat/.vscode/mcp.json"
