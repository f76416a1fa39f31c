"""Measure the guard: how much of each class it finds, and what it finds in innocent texts."""

from collections import Counter
from typing import Annotated, Any

import typer

from benchmarks.common import console, show, write
from benchmarks.guard.corpus import Case, cases
from remembrancer.guard.guard import Guard
from remembrancer.guard.schemas import SensitiveKind
from remembrancer.settings import GuardSettings

_GUARD = Guard(GuardSettings())
_CATEGORIES = {"card": "card", "iban": "iban", "id": "national_id"}
"""Categories by class; the others are secrets."""


def is_found(case: Case) -> bool:
    """Return whether all of its secrets are found, to the last letter."""
    spans = _GUARD.find(case.text)
    return all(
        any(span.start <= start and end <= span.end for span in spans)
        for start, end in case.secrets
    )


def is_false(case: Case) -> bool:
    """Return whether something is found in an innocent text."""
    return not case.secrets and bool(_GUARD.find(case.text))


def measure(of: list[Case]) -> dict[str, dict[str, float]]:
    """Return by class: the cases, recall; by class of innocent texts: the cases, those found."""
    counts = Counter(case.group for case in of)
    right = Counter(
        case.group for case in of if (is_found(case) if case.secrets else is_false(case))
    )
    return {group: {"cases": count, "found": right[group]} for group, count in counts.items()}


def table(of: list[Case]) -> tuple[list[list[Any]], dict[str, float]]:
    """Return the rows by class, and recall and precision of all."""
    secret, innocent = [c for c in of if c.secrets], [c for c in of if not c.secrets]
    rows: list[list[Any]] = []
    for title, part in (("", secret), ("innocent: ", innocent)):
        rows += [
            [
                title + group,
                int(row["cases"]),
                int(row["found"]),
                f"{row['found'] / row['cases']:.3f}",
            ]
            for group, row in measure(part).items()
        ]
    found, false = sum(map(is_found, secret)), sum(map(is_false, innocent))
    return rows, {
        "recall": found / len(secret),
        "precision": found / (found + false),
        "false": false,
        "cases": len(of),
    }


def by_category(of: list[Case]) -> list[list[Any]]:
    """Return recall and precision of each category of the guard."""
    false = Counter(
        category
        for case in of
        if not case.secrets
        for category in {span.category for span in _GUARD.find(case.text)}
    )
    rows: list[list[Any]] = []
    for category in (c for c in SensitiveKind if c is not SensitiveKind.INSTRUCTION):
        part = [c for c in of if c.secrets and _CATEGORIES.get(c.group, "secret") == category]
        found = sum(map(is_found, part))
        precision = found / max(1, found + false[category])
        rows.append([category.value, f"{found / len(part):.3f}", f"{precision:.3f}"])
    return rows


def main(
    misses: Annotated[bool, typer.Option(help="List what is wrong; nothing held out.")] = False,
) -> None:
    """Measure the guard on its corpus."""
    every = cases()
    result: dict[str, Any] = {"benchmark": "guard"}
    for name, held_out in (("adapted to", False), ("held out", True)):
        part = [case for case in every if case.held_out is held_out]
        rows, total = table(part)
        result[name] = total
        title = f"{name}: recall {total['recall']:.3f}, precision {total['precision']:.3f}"
        show(title, ["class", "texts", "found", "share"], rows)
        show(name, ["category", "recall", "precision"], by_category(part))
    if misses:
        for case in every:
            if not case.held_out and (is_false(case) or not is_found(case)):
                console.print(f"{case.group}\t{case.text!r}", markup=False, highlight=False)
    console.print(f"Written to {write('guard', result)}")


if __name__ == "__main__":
    typer.run(main)
