"""Whom a question means by a name: a sender, or the one whom another sender calls so. Pure."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from remembrancer.analysis import Question, named_senders
from remembrancer.recall.rows import CandidateRow
from remembrancer.recall.signals import Interpretation

CALLS: Final = 2
"""How often a name must be called."""
CERTAINTY: Final = 0.8
"""Share of the calls that must be by one sender."""


def interpret(text: str, question: Question, candidates: Sequence[CandidateRow]) -> Interpretation:
    """Return a question with the senders that it names, or that its names are for."""
    senders = {item.sender_name for item in candidates if item.sender_name}
    named, names = set(named_senders(text, senders)), []
    for number, name in enumerate(question.names):
        if meant := named_senders(name, senders) or _called(name, candidates, senders):
            named |= meant
            names.append(number)
    return Interpretation(question, named, names)


def _called(
    name: str, candidates: Sequence[CandidateRow], senders: Collection[str]
) -> frozenset[str]:
    """Return the sender whom the other one of two calls by a name: "Hey Kate!", "Thanks, Kate."."""
    if len(senders) != 2:
        return frozenset()
    word = re.escape(name)
    call = re.compile(rf"^\W*(?:[^\W\d_]+\W+)?{word}\s*(?:[,.!?]|$)|, {word}\s*[.!?]")
    calls = Counter(
        item.sender_name
        for item in candidates
        if item.sender_name and name in item.content and call.search(item.content)
    )
    # The name breaks ties, so that the order of the candidates does not matter.
    caller, count = max(calls.items(), key=lambda n: (n[1], n[0]), default=("", 0))
    if count < CALLS or count < CERTAINTY * calls.total():
        return frozenset()
    return frozenset(senders) - {caller}
