"""The reasons of a recall hit, as one line."""

import re

from remembrancer.recall.schemas import ArmReason, Reasons

_ARMS = {"dense": "meaning", "keyword": "words"}


def reason_line(reasons: Reasons, query: str) -> str:
    parts = ["exact match"] if reasons.exact else []
    words = [_query_word(stem, query) for stem in reasons.words]
    arms = sorted(reasons.arms.items(), key=lambda arm: arm[1].rank)
    parts += [_arm(name, arm, words) for name, arm in arms]
    return "; ".join(parts)


def _arm(name: str, arm: ArmReason, words: list[str]) -> str:
    text = f"{_ARMS.get(name, name)} #{arm.rank}"
    if name == "keyword" and words:
        text += f" ({', '.join(words)})"
    if arm.lifted_by:
        text += f", lifted by neighbour {arm.lifted_by:+d}"
    return text


def _query_word(stem: str, query: str) -> str:
    """Return the query's word with this stem, or the stem if none is obvious."""
    prefix = stem[:-1] if len(stem) > 4 else stem  # the stem of "community" is "communiti"
    words = re.findall(r"\w+", query)
    return next((word for word in words if word.casefold().startswith(prefix)), stem)
