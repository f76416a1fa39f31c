"""The composition root: builds services from settings. Nothing else reads settings."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from uuid import UUID

from pydantic import SecretStr

from remembrancer.access import as_actor
from remembrancer.agents.schemas import Agent
from remembrancer.associations.service import Associations
from remembrancer.associations.writer import AssociationWriter
from remembrancer.audit.log import AuditLog
from remembrancer.audit.reads import Reads
from remembrancer.backend import Backend
from remembrancer.context.bulletin import Bulletins
from remembrancer.context.renderer import Renderer
from remembrancer.context.service import Contexts
from remembrancer.context.template_files import Templates
from remembrancer.db.embedded import embedded_server
from remembrancer.db.engine import Database, driver_url, service_url
from remembrancer.db.migrate import migrate
from remembrancer.document.service import Documents
from remembrancer.embeddings import Embedder, create_embedder
from remembrancer.erasure.export import Export
from remembrancer.erasure.service import Erasure
from remembrancer.extraction.llm_summariser import LLMSummariser
from remembrancer.extraction.remake import remake_chunks
from remembrancer.extraction.service import Summaries
from remembrancer.extraction.store_facts import ExtractedFactWriter
from remembrancer.extraction.summariser import Summariser, Verbatim
from remembrancer.extras import extra
from remembrancer.facts.service import Facts
from remembrancer.guard.guard import Guard
from remembrancer.identity.service import Identity
from remembrancer.jobs.queue import SUMMARISE
from remembrancer.jobs.service import Jobs
from remembrancer.keys.service import Keys
from remembrancer.keys.sign_ins import SignIns
from remembrancer.llm import create_language_model
from remembrancer.lookup.agent_memory import AgentMemory
from remembrancer.lookup.names import Names
from remembrancer.lookup.saved_filters import SavedFilters
from remembrancer.lookup.service import Lookup
from remembrancer.memories.batch import Batches
from remembrancer.memories.budget import Budget
from remembrancer.memories.expiry import Expiry
from remembrancer.memories.keywords import MemoryDetails
from remembrancer.memories.pipeline import WritePipeline
from remembrancer.memories.schemas import MemoryCreate, RememberResult
from remembrancer.memories.service import Memories
from remembrancer.moves.service import Moves
from remembrancer.nouns import (
    AgentOperations,
    ConversationOperations,
    MemoryOperations,
    SpaceOperations,
    UserOperations,
)
from remembrancer.periodic import close_all
from remembrancer.places.service import Places
from remembrancer.preferences.policy import Policies
from remembrancer.preferences.service import Preferences
from remembrancer.recall import create_reranker
from remembrancer.recall.access_counts import AccessCounts
from remembrancer.recall.schemas import RecallAnswer, RecallDetails, RecallQuery
from remembrancer.recall.service import Recall
from remembrancer.records.service import Records
from remembrancer.retention.service import Retention
from remembrancer.review.service import Reviews
from remembrancer.search.index import SearchIndex
from remembrancer.search.model import claim_store
from remembrancer.settings import Settings, place
from remembrancer.tools.memory import memory_tools
from remembrancer.uploads.service import Uploads
from remembrancer.usage.counts import UsageCounts
from remembrancer.usage.service import Usage
from remembrancer.user_names import AnyUser
from remembrancer.users.schemas import User
from remembrancer.validation import validate

if TYPE_CHECKING:
    from remembrancer.jobs.worker import Task, Worker
    from remembrancer.keys.tokens import UserTokens

# A program that sets up no log does not get our lines on its standard error.
logging.getLogger("remembrancer").addHandler(logging.NullHandler())


class Remembrancer:
    """A memory store and all its operations. Open one with :meth:`open`.

    ``remember`` and ``recall`` take a user and an agent. All other operations are methods of a
    noun, such as ``memories.list`` or ``conversations.append``, and take an :class:`Actor` first.
    The nouns are those of ``remembrancer.client``, and ``records`` (decision 26).
    """

    def __init__(self, settings: Settings, database: Database, embedder: Embedder) -> None:
        search = SearchIndex(embedder)
        self.settings = settings
        self.database = database
        self.embedder = embedder
        self.reads = Reads(database, whose=settings.audit.reads)
        self.guard = Guard(settings.guard)
        self.backend = backend = Backend(
            database, search, self.guard, self.reads, settings.limits, UsageCounts(database)
        )
        self.retention = Retention(database, settings.retention)
        self.expiry = Expiry(database)
        self.access_counts = AccessCounts(database)
        self.language_model = create_language_model(settings.llm)
        budget = Budget(settings.budget.tokens, backend.usage_counts)
        pipeline = WritePipeline(search, budget)
        renderer = Renderer(Templates(settings.context.templates))
        associations = AssociationWriter(settings.recall.near_duplicate)
        memories = Memories(backend, pipeline, budget, associations, remake_chunks)
        self.reranker = create_reranker(settings.rerank)
        recall = Recall(backend, embedder, self.access_counts, self.reranker)
        erasure = Erasure(backend, clear_caches=recall.forget)
        summariser: Summariser = Verbatim()
        if self.language_model is not None:
            summariser = LLMSummariser(backend, self.language_model, settings.extraction)
        self.summaries = Summaries(
            backend,
            summariser,
            settings.summaries,
            ExtractedFactWriter(
                search, pipeline, budget, confirm=settings.extraction.review == "confirm"
            ),
        )
        contexts = Contexts(backend, recall, renderer, settings.context)

        self.facts = Facts(backend, memories)
        self.memories = MemoryOperations(
            memories, Batches(backend, budget, remake_chunks), recall, self.facts, erasure
        )
        self.review = Reviews(backend, budget, memories)
        self.associations = Associations(backend, associations)
        self.places = Places(backend, memories)
        self.documents = Documents(backend, pipeline, associations)
        self.records = Records(backend, pipeline, budget, recall)
        self.conversations = ConversationOperations(backend, contexts, self.summaries, erasure)
        self.users = UserOperations(backend, Identity(backend), Export(backend), erasure)
        self.agents = AgentOperations(backend, Bulletins(backend, renderer, settings.context))
        self.preferences = Preferences(backend)
        self.lookup = Lookup(backend, embedder, recall)
        self.policies = Policies(backend)
        self.moves = Moves(backend, budget)
        self.agent_memory = AgentMemory(backend, self.preferences, self.moves)
        self.names = Names(backend)
        self.saved_filters = SavedFilters(backend)
        self.spaces = SpaceOperations(backend, self.facts)
        self.tools = memory_tools(
            memories, recall, self.places, self.documents, settings.tools, backend
        )
        self.keys = Keys(backend, _user_tokens(database, settings))
        self.sign_ins = SignIns(backend, self.keys.uses, days=settings.retention.sessions)
        self.uploads = Uploads(backend)
        self.tasks: dict[str, Task] = {SUMMARISE: self.summaries.job}
        self.jobs = Jobs(database)
        self.audit = AuditLog(database)
        self.usage = Usage(database, backend.usage_counts)

    @cached_property
    def worker(self) -> "Worker":
        """The worker of background jobs."""
        # Only servers need it, and its import takes a tenth of a second.
        from remembrancer.jobs.worker import Worker  # noqa: PLC0415

        return Worker(
            self.database,
            self.settings.jobs,
            tasks=self.tasks,
            sweeps={SUMMARISE: self.summaries.sweep},
        )

    @staticmethod
    @asynccontextmanager
    async def open(
        data_dir: str | Path | None = None,
        *,
        database_url: str | None = None,
        settings: Settings | None = None,
        check_model: bool = True,
    ) -> "AsyncIterator[Remembrancer]":
        """Open the store in ``data_dir`` or at ``database_url``; close it at the end.

        ``data_dir`` holds an embedded Postgres that runs while the store is open. Other values
        come from ``settings``, by default from the environment and the settings file. Raises
        ``ConfigurationError`` if the store cannot be opened; the message says what to do. With
        ``check_model`` false, a store of another embedding model opens too, for maintenance only:
        recall and writes fail.
        """
        chosen = (settings or Settings()).model_copy(update=place(data_dir, database_url))
        async with AsyncExitStack() as stack:
            embedder = create_embedder(chosen.embedding)
            owner_url = await stack.enter_async_context(database_server(chosen))
            given = chosen.database_url
            url = service_url(owner_url) if given is None else given.get_secret_value()
            await asyncio.to_thread(migrate, driver_url(owner_url), driver_url(url))
            stack.push_async_callback(embedder.close)
            if chosen.traces:
                with extra("otel", "opentelemetry.sdk"):
                    from remembrancer.telemetry.traces import traced  # noqa: PLC0415
                stack.enter_context(traced())
            database = Database(
                url,
                pool_size=chosen.database.pool_size,
                slow_query_ms=chosen.database.slow_query_ms,
            )
            stack.push_async_callback(database.close)
            if check_model:
                await claim_store(database, embedder)
            memory = Remembrancer(chosen, database, embedder)
            for client in (memory.language_model, memory.reranker, memory.keys.tokens):
                if client is not None:
                    stack.push_async_callback(client.close)
            memory.retention.start()
            stack.push_async_callback(memory.retention.stop)
            periodics = (
                memory.access_counts.writing,
                memory.reads.writing,
                memory.expiry.sweeping,
                memory.keys.uses.writing,
                memory.backend.usage_counts.writing,
            )
            for periodic in periodics:
                periodic.start()
            stack.push_async_callback(close_all, periodics)
            yield memory

    async def remember(
        self,
        content: str,
        *,
        user: User | AnyUser | None = None,
        agent: Agent | UUID | str | None = None,
        idempotency_key: str | None = None,
        **details: Unpack[MemoryDetails],
    ) -> RememberResult:
        """Remember a statement for ``user``, through ``agent`` if one is given.

        ``details`` are the other fields of :class:`MemoryCreate`: kind, category, subject,
        importance, shared and so on. Raises ``SimilarMemoryExists`` if a memory on its subject
        exists, and ``InvalidInput`` for an invalid field.
        """
        return await self.memories.remember(
            as_actor(user, agent),
            validate(MemoryCreate, content=content, **details),
            idempotency_key=idempotency_key,
        )

    async def recall(
        self,
        query: str | None = None,
        *,
        user: User | AnyUser | None = None,
        agent: Agent | UUID | str | None = None,
        **details: Unpack[RecallDetails],
    ) -> RecallAnswer:
        """Recall what is relevant to ``query`` and visible to ``user`` through ``agent``.

        ``details`` are the other fields of :class:`RecallQuery`: limit, mode, sort, filters.
        Without a user, only shared knowledge is recalled.
        """
        request = validate(RecallQuery, query=query, **details)
        return await self.memories.recall(as_actor(user, agent), request)


def at_embedded_server(settings: Settings, owner_url: str) -> Settings:
    """Return the settings with the addresses of an embedded server that runs already."""
    owner, service = SecretStr(owner_url), SecretStr(service_url(owner_url))
    return settings.model_copy(update={"database_url": service, "database_owner_url": owner})


def _user_tokens(database: Database, settings: Settings) -> "UserTokens | None":
    if not settings.oidc.issuer:
        return None
    with extra("server"):
        # Cryptography, which only servers with an identity provider need.
        from remembrancer.keys.tokens import UserTokens  # noqa: PLC0415

    return UserTokens(database, settings.oidc, settings.server.public_url)


@asynccontextmanager
async def database_server(settings: Settings) -> AsyncIterator[str]:
    """Yield the owner's address of the database: the configured one, or a started embedded one."""
    if settings.database_url is not None:
        yield (settings.database_owner_url or settings.database_url).get_secret_value()
        return
    server = embedded_server(settings)
    url = await asyncio.to_thread(server.start)
    try:
        yield url
    finally:
        await asyncio.to_thread(server.stop)
