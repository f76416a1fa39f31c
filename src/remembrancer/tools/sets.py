"""Sets of the memory tools: what a model has room for. Pure."""

from collections.abc import Sequence
from typing import Final

from remembrancer.errors import NotFound
from remembrancer.settings import ToolSet
from remembrancer.tools.definitions import MEMORY_TOOLS, guidance

_ARGUMENTS: Final[dict[ToolSet, dict[str, tuple[str, ...]]]] = {
    ToolSet.SMALL: {
        "add_to_memory": ("content", "category", "confirmed"),
        "memory_recall": ("query",),
    },
    ToolSet.DEFAULT: {
        "add_to_memory": ("content", "category", "subject", "further_fact", "confirmed"),
        "update_memory": ("memory_id", "content"),
        "forget_memory": ("memory_id",),
        "memory_recall": ("query", "max_results", "space"),
    },
    ToolSet.ALL: {},
}
"""The memory tools of a set, and the arguments that it shows. All others of a tool work as well."""
_MEMORY_TOOLS: Final = frozenset(tool.name for tool in MEMORY_TOOLS)


def has(chosen: ToolSet, name: str) -> bool:
    """Return whether a tool is in a set. An agent's own tools are in each but ``small``."""
    if chosen is ToolSet.ALL or name in _ARGUMENTS[chosen]:
        return True
    return chosen is not ToolSet.SMALL and name not in _MEMORY_TOOLS


def check(chosen: ToolSet, name: str) -> None:
    """Raise ``NotFound`` for a tool that the set does not have."""
    if not has(chosen, name):
        raise NotFound("not in the set of tools", field="name")


def arguments(chosen: ToolSet, name: str) -> Sequence[str] | None:
    """Return the arguments of a tool that a set shows; null for all of them."""
    return _ARGUMENTS[chosen].get(name)


def description(chosen: ToolSet, name: str) -> str | None:
    """Return what a set says of a tool; null for the tool's own description."""
    return guidance(f"small_{name}") if chosen is ToolSet.SMALL else None
