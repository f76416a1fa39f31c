"""From what was found in a text to what is stored and said."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from remembrancer.errors import InvalidInput
from remembrancer.guard.schemas import NAMES, Action, GuardFinding, Sensitive, Span

Policy = Mapping[Sensitive, Action]


def disjoint(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one, which is of the first's category."""
    apart: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if apart and span.start < apart[-1].end:
            before = apart[-1]
            apart[-1] = Span(before.start, max(before.end, span.end), before.category)
        else:
            apart.append(span)
    return apart


def redacted(text: str, spans: Sequence[Span]) -> str:
    """Return ``text`` with a mark in place of each span."""
    kept = []
    done = 0
    for span in spans:
        kept += [text[done : span.start], mark(span.category)]
        done = span.end
    return "".join([*kept, text[done:]])


def mark(category: Sensitive) -> str:
    """Return what is stored in place of something."""
    return f"[redacted: {NAMES[category]}]"


def findings(field: str, spans: Iterable[Span], policy: Policy) -> list[GuardFinding]:
    """Return what is said of the spans of a field."""
    counts = Counter(span.category for span in spans)
    return [
        GuardFinding(field=field, category=category, action=policy[category], count=count)
        for category, count in counts.items()
    ]


def blocked(found: Iterable[GuardFinding]) -> InvalidInput | None:
    """Return the error for what may not be stored, or none; it never quotes the text."""
    stopping = [finding for finding in found if finding.action is Action.BLOCK]
    if not stopping:
        return None
    first = stopping[0]
    return InvalidInput(
        _REASONS[first.category],
        field=first.field,
        guard=[finding.model_dump(mode="json") for finding in stopping],
    )


_REASONS = {
    Sensitive.SECRET: "holds what looks like a secret (a password, a key or a token)",
    Sensitive.CARD: "holds what looks like a card number",
    Sensitive.IBAN: "holds what looks like an IBAN",
    Sensitive.NATIONAL_ID: "holds what looks like a national id",
    Sensitive.INSTRUCTION: "reads like an instruction to an agent; it is shared only once reviewed",
}
