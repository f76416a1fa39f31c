"""The pages that a first bot is built from need no word of the inside, and hold their counts."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README", "docs/quickstart", "docs/bots", "docs/groups", "docs/scopes"]
PAGES += ["docs/permanent-chats", "docs/review"]
INSIDE = re.compile(r"\b(actors?|records?|chunks?|placements?)\b", re.IGNORECASE)
LINES = ROOT / "benchmarks" / "lines"
PROGRAMS = {
    "Hello": ("hello.py", "mem0_hello.py", "langmem_hello.py"),
    "Group bot for two people, with `/memory`": (
        "group_bot.py",
        "mem0_group_bot.py",
        "langmem_group_bot.py",
    ),
    "Assistant in the terminal, with summaries and review": (
        "assistant.py",
        "mem0_assistant.py",
        "langmem_assistant.py",
    ),
    "Team server, from the first start to an erasure": ("team.sh", "mem0_team.sh", None),
}


@pytest.mark.parametrize("page", PAGES)
def test_the_first_bot_needs_no_word_of_the_inside(page: str) -> None:
    """Nobody has to know actor, record, chunk or placement: not in text, not in code."""
    assert not INSIDE.findall((ROOT / f"{page}.md").read_text("utf-8"))


def count(path: Path) -> int:
    """The lines of code: no blank ones, comments, docstrings or imports."""
    source = path.read_text("utf-8")
    lines = source.splitlines()
    left_out: set[int] = set()
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(source)):
            body = getattr(node, "body", None)
            nodes = [node] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if isinstance(body, list) and body and _is_docstring(body[0]):
                nodes.append(body[0])
            for found in nodes:
                left_out.update(range(found.lineno, (found.end_lineno or 0) + 1))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in left_out
        for number, line in enumerate(lines, 1)
    )


def _is_docstring(node: ast.stmt) -> bool:
    constant = node.value if isinstance(node, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def test_the_table_of_lines_is_counted() -> None:
    """docs/migrating.md has the lines of each program as they are."""
    page = (ROOT / "docs" / "migrating.md").read_text("utf-8")
    for task, (own, *others) in PROGRAMS.items():
        paths = [ROOT / "examples" / own, *(other and LINES / other for other in others)]
        counts = [str(count(path)) if path else "not there" for path in paths]
        assert f"| {' | '.join([task, *counts])} |" in page, counts
