"""``Memory`` and ``AsyncMemory``: the memory of a bot, in this process or on a server."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar, Unpack
from uuid import UUID

from anyio.from_thread import BlockingPortal

from remembrancer.access import Actor, as_actor
from remembrancer.agents.schemas import Agent
from remembrancer.bot.agent_loop import AgentLoop, AgentOptions, model_of
from remembrancer.bot.names import (
    BotAgent,
    BotChat,
    BotUser,
    as_arguments,
    check_platform,
    parse_id,
    parse_name,
)
from remembrancer.bot.portal import Enters, Iterates, Synchronous, Waits, start_portal, wait
from remembrancer.bot.server import ServerLibrary
from remembrancer.bot.turn import AsyncBotTurn, BotTurn, open_turn
from remembrancer.client import AsyncClient
from remembrancer.conversations.schemas import Conversation, ConversationCreate, MessageCreate
from remembrancer.errors import (
    ConfigurationError,
    Conflict,
    InvalidInput,
    NotFound,
    Unavailable,
)
from remembrancer.llm.messages import ToolCall
from remembrancer.memories.keywords import MemoryDetails
from remembrancer.memories.schemas import ForgetResult, MemoryCreate, RememberResult
from remembrancer.recall.schemas import RecallAnswer, RecallDetails, RecallQuery
from remembrancer.tools.registry import plain_tool
from remembrancer.user_names import UserName
from remembrancer.users.schemas import ResolveUser, User
from remembrancer.validation import validate

if TYPE_CHECKING:
    from remembrancer.app import Remembrancer
    from remembrancer.llm.language_model import LanguageModel
    from remembrancer.settings import Settings

P = ParamSpec("P")
T = TypeVar("T")

PRIVATE: Final = "private"
"""The platform of a user's own chat with an agent."""
SERVER_SCHEMES: Final = frozenset({"http", "https"})
SCHEMES: Final = SERVER_SCHEMES | {"postgres", "postgresql", "postgresql+psycopg"}
"""Beginnings of the addresses of servers and databases."""
NOT_OPEN: Final = (
    "the memory is not open; use it inside of: with Memory(...) as memory, or call memory.open()"
)


class _Source:
    def __init__(
        self,
        source: str | Path | None = None,
        key: str | None = None,
        *,
        workspace: str | None = None,
        settings: "Settings | None" = None,
    ) -> None:
        """Say where the memory is; ``with`` opens it, or ``open`` until ``close``.

        ``source`` is a directory, or the address of a database (``postgresql://…``) or of a server
        (``http://…``), which wants a ``key``. Without it, the settings say; without ``settings``,
        the environment. ``workspace`` names one of a directory or a database; the key of a server
        says which one it is for.
        """
        self._source = None if source is None else str(source)
        self._key = key
        self._workspace = workspace
        self._settings = settings

    def _check(self) -> str:
        """Return the scheme of the source; raise ``InvalidInput`` for what does not fit together.

        It is empty for a directory, and without a source.
        """
        if self._source is not None and not self._source.strip():
            raise InvalidInput("is empty; leave it out for what the settings say", field="source")
        scheme, colon, _ = (self._source or "").partition("://")
        if colon and scheme not in SCHEMES:
            reason = f"must be a directory, or an address of {', '.join(sorted(SCHEMES))}"
            raise InvalidInput(reason, field="source")
        if colon and scheme in SERVER_SCHEMES:
            if self._workspace is not None:
                reason = "is what the key of a server says; leave it out"
                raise InvalidInput(reason, field="workspace")
        elif self._key:
            reason = "is for the address of a server; a directory or a database takes none"
            raise InvalidInput(reason, field="key")
        return scheme if colon else ""

    @property
    def is_open(self) -> bool:
        """Whether the memory is open."""
        raise NotImplementedError

    def __repr__(self) -> str:
        # Without the source, which may have a password.
        return f"<{type(self).__name__}, {'open' if self.is_open else 'not open'}>"


class AsyncMemory(_Source):
    """The memory of a bot: remember, recall, and a turn of a chat in one call.

    A *user* is a user, an id, ``platform:id`` such as ``discord:1844``, or a name of your own:
    ``ada`` is ``app:ada``. A name creates its user the first time. An *agent* is an agent, an id or
    a name, which creates its agent the first time. Without one, the memory is for all agents.

    All methods raise ``InvalidInput`` for a name that can be none, or of an unknown platform;
    ``Conflict`` for a name of several agents; and ``Unavailable`` if the memory is not open or the
    server does not answer.
    """

    _library: "Remembrancer | ServerLibrary | None" = None
    _is_worker_due = False
    """Whether the first turn starts the worker, which makes summaries."""

    @property
    def is_open(self) -> bool:
        """Whether the memory is open."""
        return self._library is not None

    @classmethod
    def over(cls, store: "Remembrancer | AsyncClient") -> Self:
        """Return the memory of an open store or client, which stays open, also after ``close``."""
        memory = cls()
        memory._attach(store)
        return memory

    async def open(self) -> Self:
        """Open the memory, unless it is open, and return it.

        Raises ``InvalidInput`` for a source that can be none, or a key or workspace that is not
        for it; ``ConfigurationError`` if a store cannot be opened, ``NotFound`` and what else
        ``Remembrancer.open`` does for a workspace; ``Unavailable`` if a server does not answer,
        and ``Unauthenticated`` for a wrong key.
        """
        if self._library is not None:
            return self
        source, scheme = self._source, self._check()
        async with AsyncExitStack() as stack:
            if source is not None and scheme in SERVER_SCHEMES:
                client = await stack.enter_async_context(AsyncClient(source, self._key))
                await client.keys.own()
                self._attach(client)
            else:
                from remembrancer.app import Remembrancer  # noqa: PLC0415 - a server needs none

                directory, url = (None, source) if scheme else (source, None)
                opening = Remembrancer.open(
                    directory,
                    database_url=url,
                    settings=self._settings,
                    workspace=self._workspace,
                )
                store = await stack.enter_async_context(opening)
                self._attach(store)
                self._is_worker_due = store.settings.jobs.in_server
            self._stack = stack.pop_all()
        return self

    async def close(self) -> None:
        """Close the memory, unless it is closed."""
        if self._library is None:
            return
        self._library = None
        for model in self._models.values():
            await model.close()
        await self._stack.aclose()

    async def __aenter__(self) -> Self:
        """Open the memory: see :meth:`open`."""
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        """Close the memory."""
        await self.close()

    def _attach(self, store: "Remembrancer | AsyncClient") -> None:
        self._models: dict[str | None, LanguageModel] = {}
        self._stack = AsyncExitStack()
        if isinstance(store, AsyncClient):
            self._library = ServerLibrary(store)
        else:
            self._library, self._settings = store, store.settings

    @property
    def library(self) -> "Remembrancer | ServerLibrary":
        """All operations: those of the store, or those of the client of a server.

        Both take the actor first. What a server lacks is for ``isinstance(library, Remembrancer)``.
        """
        if self._library is None:
            raise Unavailable(NOT_OPEN)
        return self._library

    async def remember(
        self,
        content: str,
        *,
        user: BotUser | None = None,
        agent: BotAgent | None = None,
        idempotency_key: str | None = None,
        **details: Unpack[MemoryDetails],
    ) -> RememberResult:
        """Remember a statement of ``user``. A statement that is known already gets a mention.

        ``details`` are the fields of :class:`MemoryCreate`: kind, category, subject, importance,
        shared and so on. Raises ``SimilarMemoryExists`` if a memory on its subject exists.
        """
        memory = validate(MemoryCreate, content=content, **details)
        actor = await self._actor(user, agent)
        return await self.library.memories.remember(actor, memory, idempotency_key=idempotency_key)

    async def recall(
        self,
        query: str | None = None,
        *,
        user: BotUser | None = None,
        agent: BotAgent | None = None,
        **details: Unpack[RecallDetails],
    ) -> RecallAnswer:
        """Recall what helps with ``query`` and is for ``user``, from memories and messages.

        ``details`` are the fields of :class:`RecallQuery`: limit, min_relevance, kinds and so on.
        Without a user, only shared knowledge is recalled.
        """
        request = validate(RecallQuery, query=query, **details)
        return await self.library.memories.recall(await self._actor(user, agent), request)

    async def forget(
        self, memory_id: str, *, user: BotUser | None = None, agent: BotAgent | None = None
    ) -> ForgetResult:
        """Forget a memory, by the id of its hit, and the messages that say it."""
        return await self.library.memories.forget(await self._actor(user, agent), memory_id)

    @asynccontextmanager
    async def turn(
        self,
        said: str,
        *,
        user: BotUser | None,
        agent: BotAgent | None = None,
        chat: BotChat | None = None,
        name: str | None = None,
        message_id: str | int | None = None,
        instructions: str = "",
    ) -> AsyncIterator[AsyncBotTurn]:
        """Store what ``user`` said in ``chat``, and open the turn that answers it.

        ``chat`` is a conversation, an id, ``platform:id`` or a name of your own, created the first
        time; without it, it is the user's own chat with the agent. ``name`` is the user's display
        name, ``message_id`` the platform's id of the message: the same again is a repeat.
        ``instructions`` come after the agent's own. The answer is stored at the end of the turn,
        if there is one.
        """
        library = self.library
        if self._is_worker_due and not isinstance(library, ServerLibrary):
            self._is_worker_due = False
            await self._stack.enter_async_context(library.worker.running())
        opened = await self._agent(agent)
        actor = await self._actor(user, opened, name)
        conversation = await self._conversation(actor, chat)
        platform_id = None if message_id is None else str(message_id)
        with as_arguments(content="said", platform_message_id="message_id"):
            message = validate(MessageCreate, content=said, platform_message_id=platform_id)
        if opened is None and conversation.agent_id is not None:
            opened = await self._agent(conversation.agent_id)
        parts = [opened.system_prompt if opened else "", instructions]
        async with open_turn(
            self.library,
            actor,
            conversation,
            message,
            instructions="\n\n".join(filter(None, parts)),
            tools=await self._tools(),
        ) as turn:
            turn.agent = opened
            yield turn

    async def chat(
        self,
        said: str,
        *,
        user: BotUser | None,
        agent: BotAgent | None = None,
        chat: BotChat | None = None,
        name: str | None = None,
        message_id: str | int | None = None,
        instructions: str = "",
        model: str | None = None,
    ) -> AsyncGenerator[str, None]:
        """Answer what ``user`` said with a language model, and yield the answer in pieces.

        The model may call the memory tools. It is ``model``, such as ``ollama:qwen3``, or the
        agent's, or that of the settings. What was yielded is stored as the answer, also if it
        breaks off. The other arguments are those of :meth:`turn`. Raises ``ConfigurationError``
        without a model, and what :class:`AgentLoop` does.
        """
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        async def answer() -> None:
            try:
                async with self.turn(
                    said,
                    user=user,
                    agent=agent,
                    chat=chat,
                    name=name,
                    message_id=message_id,
                    instructions=instructions,
                ) as turn:
                    temperature = turn.agent.temperature if turn.agent else None
                    loop = AgentLoop(
                        self._model(model or model_of(turn.agent)),
                        AgentOptions(temperature=temperature),
                    )
                    await loop.reply(turn, _Pieces(pieces))
            finally:
                pieces.put_nowait(None)

        answering = asyncio.create_task(answer())
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            await answering
        finally:
            answering.cancel()
            await asyncio.wait([answering])

    async def _actor(
        self, user: BotUser | None, agent: BotAgent | None, name: str | None = None
    ) -> Actor:
        if isinstance(agent, str):
            agent = await self._agent(agent)
        if isinstance(user, UUID | str):
            user = await self._user(parse_name(user, field="user"), name)
        return as_actor(user, agent)

    async def _user(self, user: UUID | UserName, name: str | None) -> User | UUID:
        if isinstance(user, UUID):
            return user
        users = self.library.users
        try:
            known = await users.get(as_actor(), user)
        except NotFound:
            check_platform(user, field="user")
        else:
            if name in {None, known.display_name}:
                return known
        with as_arguments(display_name="name"):
            request = validate(
                ResolveUser,
                platform=user.platform,
                platform_user_id=user.platform_user_id,
                display_name=name or user.platform_user_id[:200],
            )
        return await users.resolve(as_actor(), request)

    async def _agent(self, agent: BotAgent | None) -> Agent | None:
        if agent is None or isinstance(agent, Agent):
            return agent
        agents = self.library.agents
        if (agent_id := parse_id(agent)) is not None:
            return await agents.get(as_actor(), agent_id)
        try:
            return await agents.resolve(as_actor(), str(agent))
        except (InvalidInput, Conflict) as error:
            raise type(error)(error.reason, field="agent", **error.extra) from None

    async def _conversation(self, actor: Actor, chat: BotChat | None) -> Conversation:
        if isinstance(chat, Conversation):
            return chat
        conversations = self.library.conversations
        if chat is None:
            name = UserName(f"{PRIVATE}:{await self._speaker(actor)}")
        else:
            parsed = parse_name(chat, field="chat")
            if isinstance(parsed, UUID):
                return await conversations.get(as_actor(), parsed)
            check_platform(name := parsed, field="chat")
        request = validate(
            ConversationCreate,
            agent_id=actor.agent_id,
            platform=name.platform,
            platform_conversation_id=name.platform_user_id,
        )
        return await conversations.open(actor, request)

    async def _speaker(self, actor: Actor) -> UUID:
        """Return the actor's user, or that of a user's own key."""
        if actor.user_id is not None:
            return actor.user_id
        library = self.library
        holder = await library.client.keys.own() if isinstance(library, ServerLibrary) else None
        if holder is None or holder.user_id is None:
            raise InvalidInput("must be given: who said it", field="user")
        return holder.user_id

    async def _tools(self) -> list[dict[str, Any]]:
        library = self.library
        if isinstance(library, ServerLibrary):
            return (await library.client.tools.list()).items
        return [plain_tool(tool) for tool in library.tools.select()]

    def _model(self, name: str | None) -> "LanguageModel":
        own = None if isinstance(self.library, ServerLibrary) else self.library.language_model
        if name is None and own is not None:
            return own
        if name not in self._models:
            from remembrancer.llm import create_language_model  # noqa: PLC0415 - see open
            from remembrancer.settings import Settings  # noqa: PLC0415

            model = create_language_model((self._settings or Settings()).llm, name)
            if model is None:
                raise ConfigurationError(
                    "no language model to chat with; set REMEMBRANCER_LLM__MODEL, or pass model"
                )
            self._models[name] = model
        return self._models[name]


class Memory(_Source, Synchronous):
    """The memory of a bot, for code without ``async``; otherwise like :class:`AsyncMemory`.

    It works on an event loop in a thread of its own, and may be used from several threads.
    """

    _behind: tuple[AsyncMemory, BlockingPortal] | None = None

    def open(self) -> Self:
        """Open the memory, unless it is open, and return it. Raises what :class:`AsyncMemory` does.

        A program that ends without :meth:`close` leaves the data whole.
        """
        if self._behind is None:
            memory = AsyncMemory(
                self._source, self._key, workspace=self._workspace, settings=self._settings
            )
            with ExitStack() as stack:
                portal, stop = start_portal()
                stack.callback(stop)
                stack.enter_context(portal.wrap_async_context_manager(memory))
                self._behind = memory, portal
                self._stack = stack.pop_all()
        return self

    def close(self) -> None:
        """Close the memory, unless it is closed."""
        if self._behind is not None:
            self._behind = None
            self._stack.close()

    def __enter__(self) -> Self:
        """Open the memory: see :meth:`open`."""
        return self.open()

    def __exit__(self, *_: object) -> None:
        """Close the memory."""
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether the memory is open."""
        return self._behind is not None

    def behind(self) -> tuple[AsyncMemory, BlockingPortal]:
        """Return the asynchronous memory, and the way to its loop."""
        if self._behind is None:
            raise Unavailable(NOT_OPEN)
        return self._behind

    @property
    def library(self) -> "Remembrancer | ServerLibrary":
        """All operations, for :meth:`wait`."""
        return self.behind()[0].library

    def wait(
        self,
        operation: Callable[P, Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call an operation of :attr:`library` and wait for its result."""
        return wait(self.behind()[1], partial(operation, *args, **kwargs))

    remember = Waits(AsyncMemory.remember)
    recall = Waits(AsyncMemory.recall)
    forget = Waits(AsyncMemory.forget)
    turn = Enters(AsyncMemory.turn, BotTurn)
    chat = Iterates(AsyncMemory.chat)


class _Pieces:
    """Listens to an answer for its text alone."""

    def __init__(self, pieces: "asyncio.Queue[str | None]") -> None:
        self._pieces = pieces

    def text(self, piece: str) -> None:
        self._pieces.put_nowait(piece)

    def tool(self, call: ToolCall, failure: str | None) -> None:
        """Show no calls."""

    def note(self, sentence: str) -> None:
        """Show no remarks."""
