"""Turn spans of sensitive text into marks, findings and errors. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from remembrancer.errors import InvalidInput
from remembrancer.guard.schemas import NAMES, Action, GuardFinding, SensitiveKind, Span

Policy = Mapping[SensitiveKind, Action]


def merge_overlaps(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, with overlapping ones merged under the first one's category."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if merged and span.start < merged[-1].end:
            first = merged[-1]
            merged[-1] = Span(first.start, max(first.end, span.end), first.category)
        else:
            merged.append(span)
    return merged


def redact(text: str, spans: Sequence[Span]) -> str:
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], f"[redacted: {NAMES[span.category]}]"]
        at = span.end
    return "".join([*parts, text[at:]])


def to_findings(field: str, spans: Iterable[Span], policy: Policy) -> list[GuardFinding]:
    counts = Counter(span.category for span in spans)
    return [
        GuardFinding(field=field, category=category, action=policy[category], count=count)
        for category, count in counts.items()
    ]


def refusal(findings: Iterable[GuardFinding]) -> InvalidInput | None:
    blocked = [finding for finding in findings if finding.action is Action.BLOCK]
    if not blocked:
        return None
    first = blocked[0]
    return InvalidInput(
        _REASONS[first.category],
        field=first.field,
        guard=[finding.model_dump(mode="json") for finding in blocked],
    )


_REASONS = {
    SensitiveKind.SECRET: "seems to hold a secret (a password, a key or a token); remove it",
    SensitiveKind.CARD: "seems to hold a card number; remove it",
    SensitiveKind.IBAN: "seems to hold an IBAN; remove it",
    SensitiveKind.NATIONAL_ID: "seems to hold a national id; remove it",
    SensitiveKind.INSTRUCTION: "reads like an instruction to an agent; "
    "store it unshared, then confirm it in review to share it",
}
