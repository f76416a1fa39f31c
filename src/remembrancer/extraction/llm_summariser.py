"""Summaries and facts by a language model: what it is asked, and what is taken of its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from remembrancer.conversations import repository as conversations
from remembrancer.db.engine import Database
from remembrancer.extraction import repository, rules
from remembrancer.extraction.prompts.extract import (
    KnownFact,
    answer_about,
    instructions,
    request,
)
from remembrancer.extraction.rules import Background, Kept
from remembrancer.extraction.schemas import GuardedFact
from remembrancer.extraction.summariser import Summary
from remembrancer.extraction.transcript import Transcript, one_line
from remembrancer.guard.guard import Guard
from remembrancer.memories import screening
from remembrancer.search.index import SearchDocument, SearchIndex
from remembrancer.settings import ExtractionSettings

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel


@dataclass(frozen=True, slots=True)
class Found:
    """A fact that may be stored, made ready for search."""

    fact: Kept
    searchable: SearchDocument


class LLMSummariser:
    """Asks a language model once for a summary and for facts.

    It is shown memories near to what was said, so that a change becomes an update. In a group
    only those that come from this very conversation: a summary is told to everybody in it, and
    nothing that one of them said elsewhere may get into it.
    """

    def __init__(
        self,
        database: Database,
        model: "LanguageModel",
        indexer: SearchIndex,
        guard: Guard,
        settings: ExtractionSettings,
    ) -> None:
        self._database = database
        self._model = model
        self._indexer = indexer
        self._guard = guard
        self._settings = settings

    async def summarise(self, transcript: Transcript) -> Summary:
        """Return the model's summary, and facts ready to be stored."""
        taking_part, background, known = await self._look_up(transcript)
        answer = await self._model.ask(
            instructions(),
            request(transcript, known, rules.shown(transcript, background.zones)),
            answer_about(transcript.people),
        )
        wanted = answer.facts if self._settings.facts else []
        allowed, guarded = self._screen(rules.kept(wanted, transcript, background))
        words = self._guard.redact(one_line(answer.summary))
        return Summary(words, await self._ready(allowed), guarded, made_for=taking_part)

    async def _look_up(
        self, talk: Transcript
    ) -> tuple[frozenset[UUID], Background, Sequence[KnownFact]]:
        names = {owner_id: name for name, owner_id in talk.people.items()}
        async with self._database.system() as connection:
            conversation = await conversations.find(connection, talk.conversation_id)
            taking_part = await conversations.participants_of(connection, talk.conversation_id)
            zones = await repository.zones(connection, names)
            rows = await repository.near(
                connection,
                [line.message_id for line in talk.lines],
                sorted(names),
                within=talk.conversation_id if len(taking_part) > 1 else None,
                limit=self._settings.known,
            )
        platform = conversation.platform if conversation is not None else None
        known = [KnownFact(row.id, names[row.owner_id], one_line(row.content)) for row in rows]
        whose = {row.id: row.owner_id for row in rows}
        return taking_part, Background(zones, whose, platform), known

    def _screen(self, found: Sequence[Kept]) -> tuple[list[Kept], list[GuardedFact]]:
        """Return facts as they may be stored, and what the guard did to them and to others."""
        allowed, guarded = [], []
        for one in found:
            screened = screening.statement(self._guard, one.statement)
            if screened.refusal is None:
                allowed.append(replace(one, statement=screened.model))
            if screened.findings:
                assert one.statement.message_id is not None
                guarded.append(
                    GuardedFact(
                        message_id=one.statement.message_id,
                        refused=screened.refusal is not None,
                        guard=screened.findings,
                    )
                )
        return allowed, guarded

    async def _ready(self, allowed: Sequence[Kept]) -> list[Found]:
        if not allowed:
            return []
        texts = await self._indexer.prepare([one.statement.content for one in allowed])
        return [Found(fact, text) for fact, text in zip(allowed, texts, strict=True)]
