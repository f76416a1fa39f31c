"""Summaries of transcripts; the simplest summariser needs no language model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from remembrancer.extraction.schemas import ExtractedFact, GuardedFact
from remembrancer.extraction.transcript import Transcript
from remembrancer.search.index import SearchDocument


@dataclass(frozen=True, slots=True)
class IndexedFact:
    """An extracted fact that passed the guard, with its search document."""

    fact: ExtractedFact
    document: SearchDocument


@dataclass(frozen=True, slots=True)
class Summary:
    """The result for one transcript. An empty ``text`` stores no chunk."""

    text: str
    facts: Sequence[IndexedFact] = field(default=())
    guarded: Sequence[GuardedFact] = field(default=())
    """Facts that the guard refused or changed."""
    readers: frozenset[UUID] | None = None
    """The only participants it may be stored for; None for any."""


class Summariser(Protocol):
    """Summarises a transcript with readable lines.

    ``AnswerCutShort`` asks for fewer messages. Any other error leaves the range unsummarised for
    a later try; the error's text is not shown.
    """

    async def summarise(self, transcript: Transcript) -> Summary:
        """Return a summary; an empty one if nothing is worth remembering."""


class Verbatim:
    """Uses the transcript as its summary."""

    async def summarise(self, transcript: Transcript) -> Summary:
        """Return the transcript, line by line."""
        return Summary(transcript.text)
