"""Why a hit is where it is, in words for somebody who has not read the documentation."""

import re

from remembrancer.recall.schemas import ArmReason, Reasons

_ARMS = {"dense": "meaning", "keyword": "words"}


def reasons(why: Reasons, query: str) -> str:
    """Return the reasons as one line, the strongest arm first, in the words of the query."""
    parts = ["its text is the query"] if why.exact else []
    words = [_as_asked(term, query) for term in why.words]
    arms = sorted(why.arms.items(), key=lambda arm: arm[1].rank)
    parts += [_arm(name, arm, words) for name, arm in arms]
    return "; ".join(parts)


def _arm(name: str, arm: ArmReason, words: list[str]) -> str:
    shown = f"{_ARMS.get(name, name)} #{arm.rank}"
    if name == "keyword" and words:
        shown += f" ({', '.join(words)})"
    if arm.lifted_by:
        shown += f", lifted by neighbour {arm.lifted_by:+d}"
    return shown


def _as_asked(term: str, query: str) -> str:
    """Return the word of the query that a stem came of, or the stem if that is not plain."""
    asked = re.findall(r"\w+", query)
    stem = term[:-1] if len(term) > 4 else term  # "communiti" came of "community"
    return next((word for word in asked if word.casefold().startswith(stem)), term)
