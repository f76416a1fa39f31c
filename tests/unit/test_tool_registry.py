"""The registry: what selection keeps, what schemas say, what cannot leave its line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from remembrancer import NotFound, Registry, Tool, as_actor
from remembrancer.errors import DatabaseUnavailable, InvalidInput
from remembrancer.mcp.server import tool_of
from remembrancer.settings import ToolSet
from remembrancer.tokens import count
from remembrancer.tools.arguments import AddToMemory, ManageUserMemory, MemorySave
from remembrancer.tools.definitions import MEMORY_TOOLS
from remembrancer.tools.json_text import MAX_TOKENS, to_json_line, truncate
from remembrancer.tools.registry import plain_tool
from remembrancer.tools.schema import parameters
from remembrancer.tools.sets import has


class _Nothing(BaseModel):
    """No arguments."""


async def _run(_actor: Any, _arguments: Any, _context: Any) -> dict[str, Any]:
    return {}


def _registry(*, system: int, domain: int) -> Registry:
    registry = Registry()
    for number in range(max(system, domain)):
        if number < domain:
            registry.add(Tool(f"domain_{number}", "", _Nothing, _run))
        if number < system:
            registry.add(Tool(f"system_{number}", "", _Nothing, _run, frozenset({"system"})))
    return registry


@given(
    st.integers(0, 5),
    st.integers(0, 9),
    st.none() | st.integers(0, 12),
    st.none() | st.sets(st.integers(0, 9)),
)
def test_no_selection_drops_a_system_tool(
    system: int, domain: int, limit: int | None, named: set[int] | None
) -> None:
    """Nor do they count: of the others there are as many as are wanted, up to the limit."""
    names = None if named is None else [f"domain_{number}" for number in named]
    chosen = [t.name for t in _registry(system=system, domain=domain).select(names, limit=limit)]
    assert [n for n in chosen if n.startswith("system")] == [f"system_{n}" for n in range(system)]
    wanted = [n for n in range(domain) if named is None or n in named]
    kept = [int(n.removeprefix("domain_")) for n in chosen if n.startswith("domain")]
    assert kept == wanted[: len(wanted) if limit is None else limit]


def test_a_name_is_taken_once() -> None:
    """Two tools of one name would make a call ambiguous."""
    registry = _registry(system=1, domain=1)
    with pytest.raises(ValueError, match="already"):
        registry.add(Tool("system_0", "", _Nothing, _run))


async def test_an_agents_own_tools_are_called_alike() -> None:
    """Arguments are checked, what a model can mend is told, the rest is raised."""

    class Wanted(BaseModel):
        count: int = Field(ge=1)

    async def run(_actor: Any, wanted: Wanted, _context: Any) -> dict[str, Any]:
        if wanted.count == 13:
            raise InvalidInput("is unlucky", field="count")
        if wanted.count == 500:
            raise DatabaseUnavailable("gone")
        return {"doubled": wanted.count * 2}

    registry = Registry()
    registry.add(Tool("double", "Doubles.", Wanted, run))
    assert (await registry.call(as_actor(), "double", '{"count": 4}')).result == {"doubled": 8}
    for count_, reason in ((0, "greater than or equal to 1"), (13, "is unlucky")):
        answer = await registry.call(as_actor(), "double", {"count": count_})
        assert not answer.ok
        assert reason in answer.text
    with pytest.raises(DatabaseUnavailable):
        await registry.call(as_actor(), "double", {"count": 500})
    with pytest.raises(NotFound, match="double"):
        await registry.call(as_actor(), "halve", {})


@pytest.mark.parametrize("model", [AddToMemory, MemorySave, ManageUserMemory])
def test_schemas_stand_by_themselves(model: type[BaseModel]) -> None:
    """No references, titles or nulls; every argument says what it is for."""
    schema = parameters(model)
    written = json.dumps(schema)
    for word in ("$ref", "$defs", '"title"', '"null"'):
        assert word not in written
    assert set(schema["properties"]) == set(model.model_fields)
    for name, argument in schema["properties"].items():
        assert argument.get("description") or name == "operation"


def test_a_reference_keeps_what_is_said_beside_it() -> None:
    """The description of an argument, not the docstring of its type."""
    category = parameters(AddToMemory)["properties"]["category"]
    assert (category["type"], category["description"]) == ("string", "What it is about.")
    assert "person" in category["enum"]


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_what_a_model_is_given_is_one_line_that_says_the_same(value: dict[str, Any]) -> None:
    """Whatever the text, line separators and markup of any kind included."""
    written = to_json_line(value)
    assert len(written.splitlines()) <= 1
    assert "<" not in written
    assert json.loads(written) == value


@given(st.text(max_size=5000))
@settings(deadline=None)  # the first count loads the vocabulary
def test_a_clipped_text_has_few_tokens(text: str) -> None:
    """It is the text, or a beginning of it with a mark."""
    kept = truncate(text)
    assert kept == text or kept.endswith(" [...]")
    assert count(kept) <= MAX_TOKENS + 5


ROOM = {ToolSet.SMALL: 350, ToolSet.DEFAULT: 900}


def test_sets_of_tools_leave_room_in_a_prompt() -> None:
    """Counted as JSON that a client hands to a model; docs/mcp.md has the numbers."""
    listed = [plain_tool(tool) for tool in MEMORY_TOOLS]
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    for chosen in ToolSet:
        shown = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
            }
            for tool in (tool_of(tool, (), chosen) for tool in listed if has(chosen, tool["name"]))
        ]
        tokens = count(json.dumps(shown))
        assert count(json.dumps(shown, separators=(",", ":"))) < tokens
        assert tokens <= ROOM.get(chosen, 10_000), chosen
        assert f"| `{chosen}` |" in page
        assert f"| {tokens:,} |" in page, (chosen, tokens)
        for tool in shown:
            assert len(tool["description"]) >= 100, tool
            assert all(
                a.get("description") or a.get("enum") or a.get("default")
                for a in tool["input_schema"]["properties"].values()
            )
