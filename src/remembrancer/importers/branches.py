"""The branch of a conversation that was open, and texts without what programs add. Pure."""

from collections.abc import Mapping

from remembrancer.importers.parse import invalid


def branch(parents: Mapping[str, str | None], leaf: str | None, where: str) -> list[str]:
    """Return the ids from the root to ``leaf``; ``parents`` has each message's parent."""
    path: dict[str, None] = {}
    while leaf is not None and leaf in parents:
        if leaf in path:
            raise invalid(where, "makes a message its own ancestor")
        path[leaf] = None
        leaf = parents[leaf]
    return [*path][::-1]


def without(text: str, start: str, end: str) -> str:
    """Return a text without the parts from ``start`` to ``end``."""
    pieces, at = [], 0
    while (begin := text.find(start, at)) >= 0 and (close := text.find(end, begin)) >= 0:
        pieces.append(text[at:begin])
        at = close + len(end)
    return "".join((*pieces, text[at:]))
