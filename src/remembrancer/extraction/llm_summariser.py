"""Summaries and facts by a language model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from remembrancer.access import Visibility
from remembrancer.backend import Backend
from remembrancer.conversations import repository as conversations
from remembrancer.extraction import repository, rules
from remembrancer.extraction.prompts.extract import (
    KnownFact,
    Topic,
    answer_about,
    instructions,
    request,
)
from remembrancer.extraction.rules import Background
from remembrancer.extraction.schemas import ExtractedFact, GuardedFact
from remembrancer.extraction.summariser import IndexedFact, Summary
from remembrancer.extraction.transcript import Transcript
from remembrancer.memories import screening
from remembrancer.sanitizer import visible_line
from remembrancer.settings import ExtractionSettings
from remembrancer.spaces import repository as spaces

if TYPE_CHECKING:
    from remembrancer.llm.language_model import LanguageModel


LONGEST_DESCRIPTION: Final = 500
"""Characters of a space's description that the model is told."""


class LLMSummariser:
    """Asks a language model once for a summary and for facts.

    The prompt has memories near the transcript and in its placement, so that a change becomes an
    update. In a group they come from this conversation only: all participants read the summary,
    so nothing that one of them said elsewhere may get into it. The members of a space read the
    summary of a shared conversation, so it may have what is shared there too.
    """

    def __init__(
        self, backend: Backend, model: "LanguageModel", settings: ExtractionSettings
    ) -> None:
        self._backend = backend
        self._model = model
        self._settings = settings

    async def summarise(self, transcript: Transcript) -> Summary:
        participants, background, known = await self._background(transcript)
        answer = await self._model.ask(
            instructions(),
            request(
                transcript,
                known,
                rules.prompt_lines(transcript, background.zones),
                background.topic,
            ),
            answer_about(transcript.people),
        )
        facts = answer.facts if self._settings.facts else []
        allowed, guarded = self._screen(rules.extracted_facts(facts, transcript, background))
        text = self._backend.guard.redact(visible_line(answer.summary))
        return Summary(text, await self._indexed(allowed), guarded, readers=participants)

    async def _background(
        self, transcript: Transcript
    ) -> tuple[frozenset[UUID], Background, Sequence[KnownFact]]:
        names = {owner_id: name for name, owner_id in transcript.people.items()}
        conversation_id = transcript.conversation_id
        async with self._backend.database.system() as connection:
            conversation = await conversations.find(connection, conversation_id)
            participants = await conversations.participants_of(connection, conversation_id)
            zones = await repository.zones(connection, names)
            if conversation is None:
                return participants, Background(zones, {}), []
            space_id, is_group = conversation.space_id, len(participants) > 1
            space = await spaces.find(connection, space_id) if space_id is not None else None
            is_shared = conversation.visibility == Visibility.SHARED
            memories = await repository.nearest_memories(
                connection,
                [line.message_id for line in transcript.lines],
                sorted(names),
                conversation_id=conversation_id if is_group or is_shared else None,
                shared=is_shared and not is_group,
                limit=self._settings.known,
            )
        topic = (
            None
            if space is None
            else Topic(
                visible_line(space.name),
                visible_line(space.description)[:LONGEST_DESCRIPTION],
                visible_line(conversation.title),
            )
        )
        known = [
            KnownFact(memory.id, names[memory.owner_id], visible_line(memory.content))
            for memory in memories
        ]
        owners = {memory.id: memory.owner_id for memory in memories}
        background = Background(zones, owners, conversation.platform, topic)
        return participants, background, known

    def _screen(
        self, facts: Sequence[ExtractedFact]
    ) -> tuple[list[ExtractedFact], list[GuardedFact]]:
        """Return the facts that may be stored, redacted, with the guard's findings."""
        allowed, guarded = [], []
        for fact in facts:
            screened = screening.statement(self._backend.guard, fact.memory)
            if screened.refusal is None:
                allowed.append(replace(fact, memory=screened.model))
            if screened.findings:
                assert fact.memory.message_id is not None
                guarded.append(
                    GuardedFact(
                        message_id=fact.memory.message_id,
                        refused=screened.refusal is not None,
                        guard=screened.findings,
                    )
                )
        return allowed, guarded

    async def _indexed(self, facts: Sequence[ExtractedFact]) -> list[IndexedFact]:
        if not facts:
            return []
        documents = await self._backend.search.prepare([fact.memory.content for fact in facts])
        return [IndexedFact(*pair) for pair in zip(facts, documents, strict=True)]
