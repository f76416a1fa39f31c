"""Rows have types, and `Any` grows rarer."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "remembrancer"
MOST_UNTYPED_ROWS = 5
MOST_ANY = 499
"""How many annotations may hold `Any`. Lower it whenever the count falls."""


def test_rows_of_the_database_are_typed() -> None:
    """`Row[...]` stands at most five times, each with its reason in a comment."""
    without_reason, count = set(), 0
    for path in sorted(SOURCE.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if re.search(r"\bRow(Mapping)?\[", line):
                count += 1
                before = lines[number - 1].strip() if number else ""
                if "#" not in line and not before.startswith("#"):
                    name = path.relative_to(SOURCE).as_posix()
                    without_reason.add(name)
    print(f"\nRow[...]: {count}, without a reason in {len(without_reason)} modules")
    assert not without_reason
    assert count <= MOST_UNTYPED_ROWS


def test_any_grows_rarer() -> None:
    """Annotations with `Any` are counted, and may not become more."""
    count = sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for path in SOURCE.rglob("*.py")
        for annotation in _annotations(ast.parse(path.read_text(encoding="utf-8")))
        for node in ast.walk(annotation)
    )
    print(f"\nAny in annotations: {count} of {MOST_ANY}")
    assert count <= MOST_ANY, "more `Any` than before: name the type"


def _annotations(tree: ast.Module) -> list[ast.expr]:
    found: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(node.returns)
    return [annotation for annotation in found if annotation is not None]
