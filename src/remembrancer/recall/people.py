"""Whom a question means by a name: a sender, or the one whom another sender calls so. Pure."""

from collections import Counter
from collections.abc import Set
from typing import Final

from remembrancer.analysis import Question, named_senders
from remembrancer.recall.candidates import Candidates
from remembrancer.recall.signals import Interpretation

CALLS: Final = 2
"""How often a name must be called."""
CERTAINTY: Final = 0.8
"""Share of the calls that must be by one sender."""


def interpret(text: str, question: Question, candidates: Candidates) -> Interpretation:
    """Return a question with the senders that it names, or that its names are for."""
    senders = candidates.senders
    named, names = set(named_senders(text, senders)), []
    for number, name in enumerate(question.names):
        if meant := named_senders(name, senders) or _called(name, candidates, senders):
            named |= meant
            names.append(number)
    return Interpretation(question, named, names)


def _called(name: str, candidates: Candidates, senders: Set[str]) -> frozenset[str]:
    """Return the sender whom the other one of two calls by a name: "Hey Kate!", "Thanks, Kate."."""
    if len(senders) != 2:
        return frozenset()
    callers = candidates.speakers[candidates.callers[name]].tolist()
    calls = Counter(candidates.speaker_names[caller][1] or "" for caller in callers)
    # The name breaks ties, so that the order of the candidates does not matter.
    caller, count = max(calls.items(), key=lambda n: (n[1], n[0]), default=("", 0))
    if count < CALLS or count < CERTAINTY * calls.total():
        return frozenset()
    return frozenset(senders) - {caller}
