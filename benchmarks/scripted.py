"""Facts and summaries for a benchmark, without a language model.

Gold ones, if the file has them: LoCoMo's own release has `observation` and `session_summary`.
Otherwise *extractive* ones: whole sentences of the messages, chosen by rules. They say nothing that
the messages do not say, so they show what facts and summaries cost, not what good ones add.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from remembrancer import Remembrancer
from remembrancer.analysis import analyse
from remembrancer.extraction.schemas import ExtractedFact
from remembrancer.extraction.service import Summaries
from remembrancer.extraction.store_facts import ExtractedFactWriter
from remembrancer.extraction.summariser import IndexedFact, Summary
from remembrancer.extraction.transcript import Line, Transcript
from remembrancer.memories.budget import Budget
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.schemas import MemoryCreate

SHORTEST: Final = 6
"""Words that a sentence must have to become a fact."""
CENTRAL: Final = 5
"""Sentences of an extractive summary."""
_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|\n+")
_TELLS: Final = re.compile(r"\d|\b(I|my|me|we|our)\b|(?<=[a-z,] )[A-Z][a-z]+")
"""A number, the first person, or a name inside of the sentence."""


class Fact(NamedTuple):
    """What a fact says, and the turn it is from."""

    content: str
    turn: str


def extractive_facts(line: Line, turn: str) -> Iterator[Fact]:
    """Yield a fact for each sentence that tells something, with its speaker and date."""
    for sentence in _SENTENCE.split(line.words):
        enough = len(sentence.split()) >= SHORTEST and _TELLS.search(sentence)
        if enough and not sentence.endswith("?"):
            yield Fact(f"{line.name}, {line.sent_at:%-d %B %Y}: {sentence}", turn)


def extractive_summary(lines: Sequence[Line]) -> str:
    """Return the sentences whose words come back most often in the others, in order."""
    sentences = [
        (f"{line.name}: {sentence}", Counter(analyse(sentence)))
        for line in lines
        for sentence in _SENTENCE.split(line.words)
        if len(sentence.split()) >= SHORTEST
    ]
    spread = Counter(term for _, terms in sentences for term in set(terms))

    def centrality(number: int) -> float:
        terms = sentences[number][1]
        return sum(spread[term] - 1 for term in set(terms)) / (len(terms) + 1)

    best = sorted(range(len(sentences)), key=lambda number: (-centrality(number), number))
    return "\n".join(sentences[number][0] for number in sorted(best[:CENTRAL]))


def gold_facts(sample: Mapping[str, Any]) -> dict[str, list[Fact]]:
    """Return the observations of a conversation, by the turn that each is from."""
    facts: dict[str, list[Fact]] = defaultdict(list)
    for observed in sample.get("observation", {}).values():
        for content, turns in (fact for of_speaker in observed.values() for fact in of_speaker):
            # Some have a list of turns. The first one stands for them.
            turn = turns[0] if isinstance(turns, list) else turns
            facts[str(turn)].append(Fact(content, str(turn)))
    return facts


@dataclass(frozen=True)
class Scripted:
    """A summariser that says what a script says. Either of both may be left out."""

    memory: Remembrancer
    sample: Mapping[str, Any]
    turns: Mapping[Any, str]
    """Turns by message id."""
    facts: bool = True
    chunks: bool = True
    told: dict[str, str] = field(default_factory=dict)
    """Turns by the content of the facts."""

    @property
    def is_gold(self) -> bool:
        """Whether the file has facts and summaries of its own."""
        return bool(self.sample.get("observation")) and bool(self.sample.get("session_summary"))

    async def summarise(self, transcript: Transcript) -> Summary:
        """Return the summary and the facts of a range of messages."""
        text = self._summary(transcript) if self.chunks else ""
        facts = [fact for fact in self._facts(transcript) if self.facts]
        if not facts:
            return Summary(text)
        self.told.update((memory.content, turn) for _, memory, turn in facts)
        documents = await self.memory.backend.search.prepare([m.content for _, m, _ in facts])
        indexed = [
            IndexedFact(ExtractedFact(owner, memory), document)
            for (owner, memory, _), document in zip(facts, documents, strict=True)
        ]
        return Summary(text, indexed)

    def service(self) -> Summaries:
        """Return the service of summaries with this summariser."""
        memory = self.memory
        search, budget = memory.backend.search, Budget(0, memory.backend.usage_counts)
        writer = ExtractedFactWriter(search, WritePipeline(search, budget), budget, confirm=False)
        return Summaries(memory.backend, self, memory.settings.summaries, writer)

    def _summary(self, transcript: Transcript) -> str:
        if not self.is_gold:
            return extractive_summary(transcript.lines)
        sessions = {self.turns[line.message_id].split(":")[0][1:] for line in transcript.lines}
        summaries = self.sample["session_summary"]
        return "\n".join(
            summaries[name]
            for name in (f"session_{number}_summary" for number in sorted(sessions, key=int))
            if name in summaries
        )

    def _facts(self, transcript: Transcript) -> Iterator[tuple[Any, MemoryCreate, str]]:
        gold = gold_facts(self.sample)
        for line in transcript.lines:
            turn = self.turns[line.message_id]
            for fact in gold[turn] if self.is_gold else extractive_facts(line, turn):
                memory = MemoryCreate(
                    content=fact.content,
                    conversation_id=transcript.conversation_id,
                    message_id=line.message_id,
                    allow_similar=True,
                )
                yield line.owner_id, memory, fact.turn
