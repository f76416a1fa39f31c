"""What makes a summary of a transcript, and the one that needs no model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from remembrancer.extraction.schemas import GuardedFact
from remembrancer.extraction.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Summary:
    """What is kept of a transcript. Without words there is nothing to keep, which is fine."""

    words: str
    facts: Sequence[Any] = field(default=())
    """What a model found out besides; kept by whoever is given to ``Summaries`` for that."""
    guarded: Sequence[GuardedFact] = field(default=())
    """What the guard did to facts."""
    made_for: frozenset[UUID] | None = None
    """Who took part when it was made, if it may be told to nobody else."""


class Summariser(Protocol):
    """Summarises a transcript that says something.

    ``AnswerCutShort`` asks for fewer messages. Whatever else it raises leaves the range
    unsummarised, to be tried again; the error's text goes nowhere.
    """

    async def summarise(self, transcript: Transcript) -> Summary:
        """Return a summary; an empty one if nothing is worth keeping."""


class Verbatim:
    """Keeps the transcript itself: nothing is lost, nothing is made up, no model is needed."""

    async def summarise(self, transcript: Transcript) -> Summary:
        """Return the transcript, line by line as it was said."""
        return Summary(transcript.text)
