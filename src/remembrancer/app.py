"""The composition root: builds services from settings. Nothing else reads settings."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack
from uuid import UUID

from pydantic import SecretStr

from remembrancer.access import Actor, Role, as_actor
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
from remembrancer.db.cap import Cap
from remembrancer.db.embedded import embedded_server
from remembrancer.db.engine import Database
from remembrancer.db.migrate import migrate
from remembrancer.db.pool import WAIT_SECONDS
from remembrancer.db.urls import driver_url, service_url
from remembrancer.document.service import Documents
from remembrancer.embeddings import Embedder, create_embedder
from remembrancer.erasure.service import Erasure
from remembrancer.errors import EmbeddingModelMismatch, WorkspaceUnavailable
from remembrancer.extraction.llm_summariser import LLMSummariser
from remembrancer.extraction.remake import remake_chunks
from remembrancer.extraction.service import Summaries
from remembrancer.extraction.store_facts import ExtractedFactWriter
from remembrancer.extraction.summariser import Summariser, Verbatim
from remembrancer.extras import extra
from remembrancer.facts.service import Facts
from remembrancer.guard.guard import Guard
from remembrancer.identity.service import Identity
from remembrancer.ids import DEFAULT_WORKSPACE
from remembrancer.jobs.queue import SUMMARISE
from remembrancer.jobs.service import Jobs
from remembrancer.keys.schemas import KeyCreate, NewKey
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
    WorkspaceOperations,
)
from remembrancer.periodic import close_all
from remembrancer.places.service import Places
from remembrancer.portability.restorations import Restorations
from remembrancer.portability.service import Export
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
from remembrancer.statistics import counts
from remembrancer.tools.memory import memory_tools
from remembrancer.uploads.service import Uploads
from remembrancer.usage.counts import UsageCounts
from remembrancer.usage.service import Usage
from remembrancer.user_names import AnyUser
from remembrancer.users.schemas import User
from remembrancer.validation import validate
from remembrancer.workspaces.databases import Servers
from remembrancer.workspaces.holds import Holds
from remembrancer.workspaces.host import Host
from remembrancer.workspaces.rows import WorkspaceRow
from remembrancer.workspaces.turns import Turns

if TYPE_CHECKING:
    from remembrancer.jobs.worker import Task, Worker
    from remembrancer.keys.tokens import UserTokens
    from remembrancer.llm.language_model import LanguageModel
    from remembrancer.recall.rerank import Reranker

# A program that sets up no log does not get our lines on its standard error.
logging.getLogger("remembrancer").addHandler(logging.NullHandler())


class Remembrancer:
    """A memory store and all its operations. Open one with :meth:`open`.

    ``remember`` and ``recall`` take a user and an agent. All other operations are methods of a
    noun, such as ``memories.list`` or ``conversations.append``, and take an :class:`Actor` first.
    The nouns are those of ``remembrancer.client``, and ``records`` (decision 26).
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        embedder: Embedder,
        *,
        workspace: str = DEFAULT_WORKSPACE,
        beside: "Remembrancer | None" = None,
        check_model: bool = True,
    ) -> None:
        # What speaks with models is that of the store ``beside`` this one, in the same process.
        search = SearchIndex(embedder)
        self.settings, self.workspace, self._beside = settings, workspace, beside
        self.database, self.embedder = database, embedder
        self._check_model = check_model
        self.reads = Reads(database, whose=settings.audit.reads)
        self.guard, self.language_model, self.reranker = _parts(settings, beside)
        self.backend = backend = Backend(
            database, search, self.guard, self.reads, settings.limits, UsageCounts(database)
        )
        self.retention = Retention(database, settings.retention)
        self.expiry = Expiry(database)
        self.access_counts = AccessCounts(database)
        budget = Budget(settings.budget.tokens, backend.usage_counts)
        pipeline = WritePipeline(search, budget)
        renderer = Renderer(Templates(settings.context.templates))
        associations = AssociationWriter(settings.recall.near_duplicate)
        memories = Memories(backend, pipeline, budget, associations, remake_chunks)
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
        tokens = _user_tokens(database, settings, workspace, beside)
        self.keys = Keys(backend, tokens, workspace=workspace)
        self.sign_ins = SignIns(
            backend, self.keys.uses, days=settings.retention.sessions, workspace=workspace
        )
        self.uploads = Uploads(backend)
        self.tasks: dict[str, Task] = {SUMMARISE: self.summaries.job}
        self.jobs = Jobs(database)
        self.audit = AuditLog(database)
        self.usage = Usage(database, backend.usage_counts)
        self.workspaces = WorkspaceOperations(
            Holds(database, lambda: self.host, is_host=self.is_default),
            _first_key,
            counts,
        )

    @property
    def is_default(self) -> bool:
        """Whether this is the default workspace."""
        return self.workspace == DEFAULT_WORKSPACE

    @property
    def is_usable(self) -> bool:
        """Whether this workspace is not suspended."""
        return self._beside is None or self._beside.host.is_active(self)

    @cached_property
    def host(self) -> "Host[Remembrancer]":
        """The workspaces beside this one, which is the default one."""
        servers = Servers.of(self.settings, self.database.url)
        return Host(self, self.database, servers, self._open_beside, self.settings.workspaces)

    @cached_property
    def _caps(self) -> defaultdict[str, Cap]:
        """The caps on connections to each server: one that is silent must not hold up others."""
        most = self.settings.workspaces.connections
        return defaultdict(lambda: Cap(most, wait_seconds=WAIT_SECONDS))

    @cached_property
    def _hurry(self) -> asyncio.Event:
        """Set when the process ends; until then workspaces may take their time to close."""
        return asyncio.Event()

    @asynccontextmanager
    async def _open_beside(self, row: WorkspaceRow, url: str) -> "AsyncIterator[Remembrancer]":
        database = Database(
            url,
            pool_size=self.settings.workspaces.pool_size,
            slow_query_ms=self.settings.database.slow_query_ms,
            cap=self._caps[row.server],
            replica_url=self.host.servers[row.server].replica_url_of(row.database),
            find=partial(self.host.address, row),
        )
        async with AsyncExitStack() as stack:
            stack.push_async_callback(database.close)
            if self._check_model:
                try:
                    await claim_store(database, self.embedder, workspace=row.name)
                except EmbeddingModelMismatch as error:
                    raise WorkspaceUnavailable(str(error)) from error
            memory = Remembrancer(
                self.settings, database, self.embedder, workspace=row.name, beside=self
            )
            await memory._run_in_background(stack)
            yield memory

    async def _run_in_background(self, stack: AsyncExitStack) -> None:
        """Do what is due while the store is open, until ``stack`` ends."""
        self.retention.start()
        stack.push_async_callback(self.retention.stop)
        periodics = (
            self.access_counts.writing,
            self.reads.writing,
            self.expiry.sweeping,
            self.keys.uses.writing,
            self.backend.usage_counts.writing,
        )
        for periodic in periodics:
            periodic.start()
        hurry = None if self._beside is None else self._beside._hurry
        stack.push_async_callback(close_all, periodics, hurry)

    @cached_property
    def restorations(self) -> Restorations:
        """What brings exports back."""
        budget = Budget(self.settings.budget.tokens, self.backend.usage_counts)
        return Restorations(self.backend, budget, self.agents)

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

    @cached_property
    def turns(self) -> "Turns[Remembrancer]":
        """Background work of the workspaces beside this one."""
        recover, at_once = self.workspaces.recover, self.settings.jobs.concurrency
        return Turns(self.database, self.host, _turn, recover, at_once=at_once)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run background jobs of all workspaces until the end."""
        async with self.worker.running(), self.turns.running():
            yield

    @staticmethod
    @asynccontextmanager
    async def open(
        data_dir: str | Path | None = None,
        *,
        database_url: str | None = None,
        settings: Settings | None = None,
        workspace: str | None = None,
        check_model: bool = True,
    ) -> "AsyncIterator[Remembrancer]":
        """Open the store in ``data_dir`` or at ``database_url``; close it at the end.

        With ``workspace``, a workspace beside it: ``NotFound`` is raised for an unknown one,
        ``Forbidden`` for one that is suspended, and ``WorkspaceUnavailable`` for one in another
        state, or with the schema or the embedding model of another.

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
            chosen = chosen.model_copy(update={"database_owner_url": SecretStr(owner_url)})
            await asyncio.to_thread(migrate, driver_url(owner_url), driver_url(url))
            stack.push_async_callback(embedder.close)
            if chosen.traces:
                with extra("otel", "opentelemetry.sdk"):
                    from remembrancer.telemetry.traces import traced  # noqa: PLC0415
                stack.enter_context(traced())
            replica = chosen.database_replica_url
            database = Database(
                url,
                pool_size=chosen.database.pool_size,
                slow_query_ms=chosen.database.slow_query_ms,
                replica_url=replica.get_secret_value() if replica else None,
            )
            stack.push_async_callback(database.close)
            if check_model:
                await claim_store(database, embedder)
            memory = Remembrancer(chosen, database, embedder, check_model=check_model)
            for client in (memory.language_model, memory.reranker, memory.keys.tokens):
                if client is not None:
                    stack.push_async_callback(client.close)
            await memory._run_in_background(stack)
            stack.push_async_callback(memory.host.close)
            stack.callback(memory._hurry.set)
            stack.push_async_callback(memory.workspaces.close)
            name = chosen.workspace if workspace is None else workspace
            yield await stack.enter_async_context(memory.host.use(name))

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


class _Parts(NamedTuple):
    """What the workspaces of a process share, beside the embedding model."""

    guard: Guard
    language_model: "LanguageModel | None"
    reranker: "Reranker | None"


def _parts(settings: Settings, beside: Remembrancer | None) -> _Parts:
    if beside is not None:
        return _Parts(beside.guard, beside.language_model, beside.reranker)
    model, reranker = create_language_model(settings.llm), create_reranker(settings.rerank)
    return _Parts(Guard(settings.guard), model, reranker)


async def _turn(store: Remembrancer, seconds: float, *, sweep: bool, remove_old: bool) -> bool:
    has_more = await store.worker.turn(seconds, sweep=sweep)
    if sweep:
        await store.expiry.sweep()
    if remove_old:
        await store.retention.remove_old()
    return has_more


async def _first_key(store: Remembrancer) -> NewKey:
    return await store.keys.create(Actor(Role.ADMIN), KeyCreate(name="admin", role=Role.ADMIN))


def at_embedded_server(settings: Settings, owner_url: str) -> Settings:
    """Return the settings with the addresses of an embedded server that runs already."""
    owner, service = SecretStr(owner_url), SecretStr(service_url(owner_url))
    return settings.model_copy(update={"database_url": service, "database_owner_url": owner})


def _user_tokens(
    database: Database, settings: Settings, workspace: str, beside: Remembrancer | None
) -> "UserTokens | None":
    if beside is not None:
        tokens = beside.keys.tokens
        return None if tokens is None else tokens.within(workspace, database)
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
