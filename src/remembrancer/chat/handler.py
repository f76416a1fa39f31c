"""Runs commands: each calls a service for the user. The agent is not involved."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final
from uuid import UUID

from remembrancer.access import STAFF, Actor, Scope
from remembrancer.app import Remembrancer
from remembrancer.chat.parser import USAGE, Command, ParseError, parse
from remembrancer.chat.replies import File, Reply, Span, plain_reply
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import Forbidden, NotFound, RemembrancerError
from remembrancer.memories import schemas
from remembrancer.paging import all_items
from remembrancer.preferences.schemas import PreferenceUpdate
from remembrancer.recall.schemas import Hit, RecallQuery
from remembrancer.spaces.rules import origin
from remembrancer.spaces.schemas import Invitation
from remembrancer.validation import validate

PAGE_SIZE: Final = 20
MAX_HITS: Final = 10
SHARED: Final = (
    "This is shared knowledge, which everybody is told. Only those who run this bot can change it."
)
_CHANGES: Final = frozenset({"edit", "delete", "restore"})
DESCRIPTION: Final = 300
"""Characters that tell of an invitation."""


@dataclass(frozen=True, slots=True)
class Location:
    actor: Actor
    """Acts for the user, through the agent."""
    conversation_id: UUID | None = None

    @property
    def chat(self) -> Actor:
        """Acts for everybody in the chat, also for those whose first message this is."""
        return self.actor.without_user() if self.actor.role in STAFF else self.actor


Handle = Callable[[Location, Command], Awaitable[Reply]]


class CommandHandler:
    def __init__(self, app: Remembrancer) -> None:
        self._app = app
        self._handlers: dict[str, Handle] = {
            "list": self._list,
            "search": self._search,
            "show": self._show,
            "add": self._add,
            "edit": self._edit,
            "delete": self._delete,
            "restore": self._restore,
            "delete all": self._delete_all,
            "scope": self._scope,
            "places": self._places,
            "invitations": self._invitations,
            "accept": self._answer_invitation,
            "decline": self._answer_invitation,
            "pause": self._pause,
            "resume": self._pause,
            "export": self._export,
            "help": self._help,
        }

    async def answer(self, location: Location, text: str) -> Reply | None:
        """Return the reply to a command, also to a refused one; null unless it is one."""
        command = parse(text)
        if command is None:
            return None
        if isinstance(command, ParseError):
            return plain_reply(command.reason, f"Try: {command.nearest}")
        try:
            location.actor.require_user()
            return await self._handlers[command.name](location, command)
        except Forbidden as error:
            if command.name in _CHANGES and await self._is_shared(location, command):
                return plain_reply(SHARED)
            return refusal(error)
        except RemembrancerError as error:
            return refusal(error)

    async def _is_shared(self, location: Location, command: Command) -> bool:
        with suppress(NotFound):
            return (await self._app.memories.get(location.actor, command.id)).user_id is None
        return False

    async def _list(self, location: Location, command: Command) -> Reply:
        categories = [command.category] if command.category else []
        page = await self._page(location, schemas.MemoryFilter(categories=categories), command.page)
        return _list_reply(page, command, "memories")

    async def _places(self, location: Location, command: Command) -> Reply:
        page = await self._page(
            location, schemas.MemoryFilter(kinds=[schemas.Kind.PLACE]), command.page
        )
        return _list_reply(page, command, "places")

    async def _page(
        self, location: Location, filters: schemas.MemoryFilter, number: int
    ) -> schemas.MemoryPage:
        page = await self._app.memories.list(location.actor, filters, limit=PAGE_SIZE)
        for _ in range(number - 1):
            if page.next_cursor is None:
                return page.model_copy(update={"items": []})
            page = await self._app.memories.list(
                location.actor, filters, limit=PAGE_SIZE, cursor=page.next_cursor
            )
        return page

    async def _search(self, location: Location, command: Command) -> Reply:
        query = validate(RecallQuery, query=command.text, limit=MAX_HITS, sources=["memory"])
        answer = await self._app.memories.recall(location.actor, query)
        if not answer.hits:
            return plain_reply("No memory matches.")
        return Reply(
            [
                _line(hit.id, hit.content, _origin(hit)) if hit.user_id else _shared_line(hit)
                for hit in answer.hits
            ]
        )

    async def _show(self, location: Location, command: Command) -> Reply:
        memory = await self._app.memories.get(location.actor, command.id)
        lines = [
            _line(memory.id, memory.content, _origin(memory)),
            [Span(f"{memory.category}, {memory.kind}, mentioned {memory.mention_count}x")],
        ]
        for version in reversed(memory.versions):
            when = version.recorded_at.date().isoformat()
            lines.append([Span(f"v{version.version} ", "bold"), Span(f"{when}: {version.content}")])
        return Reply(lines)

    async def _add(self, location: Location, command: Command) -> Reply:
        space_id = None
        if location.conversation_id is not None:
            conversations = self._app.conversations
            space_id = (await conversations.get(location.chat, location.conversation_id)).space_id
        statement = validate(
            schemas.MemoryCreate,
            content=command.text,
            space_id=space_id,
            category=command.category or schemas.Category.OTHER,
            platform=location.actor.entry_point,
        )
        result = await self._app.memories.remember(location.actor, statement, source="chat")
        known = result.outcome is schemas.Outcome.MENTIONED
        prefix = "I knew that already: " if known else "Remembered: "
        return Reply([[Span(prefix), *_line(result.memory.id, result.memory.content)]])

    async def _edit(self, location: Location, command: Command) -> Reply:
        changes = validate(schemas.MemoryUpdate, content=command.text)
        memory = await self._app.memories.update(location.actor, command.id, changes, source="chat")
        version = f" (version {memory.version})"
        return Reply([[Span("Updated: "), *_line(memory.id, memory.content), Span(version)]])

    async def _delete(self, location: Location, command: Command) -> Reply:
        memory = await self._app.memories.forget(location.actor, command.id)
        return plain_reply(
            f"Deleted: '{memory.content}'",
            memory.note,
            f"To restore: /memory restore {memory.id}. The pages and the API erase it.",
        )

    async def _restore(self, location: Location, command: Command) -> Reply:
        memory = await self._app.memories.restore(location.actor, command.id)
        return Reply([[Span("Restored: "), *_line(memory.id, memory.content)]])

    async def _delete_all(self, location: Location, command: Command) -> Reply:
        user_id = location.actor.require_user()
        users = self._app.users
        receipt = await users.erase(location.actor, user_id, memories_only=True)
        code = confirmation(receipt)
        if not receipt.total:
            return plain_reply("Nothing is remembered, so there is nothing to erase.")
        counts = (
            f"{receipt.rows.get('memories', 0)} memories and "
            f"{receipt.rows.get('messages', 0)} messages"
        )
        if command.text != code:
            return plain_reply(
                *(["That is not the code."] if command.text else []),
                f"This erases {counts}, for all your agents. It cannot be undone.",
                f"To confirm: /memory delete all {code}",
            )
        receipt = await users.erase(location.actor, user_id, memories_only=True, dry_run=False)
        return plain_reply(f"Erased: {counts}; {receipt.total} rows in total.")

    async def _scope(self, location: Location, command: Command) -> Reply:
        user_id, agent_id = location.actor.require_user(), location.actor.agent_id
        if agent_id is None:
            return plain_reply("This chat has no agent, so there is no scope to show.")
        preferences = self._app.preferences
        if command.text == "reset":
            await preferences.reset(location.actor, user_id, agent_id)
        elif command.text:
            allow = PreferenceUpdate(allow_agent_specific_memory=command.text == Scope.AGENT)
            await preferences.set(location.actor, user_id, agent_id, allow)
        config = await preferences.scope(location.actor, user_id, agent_id)
        meaning = {
            Scope.AGENT: "only this agent uses what it learns about you",
            Scope.GLOBAL: "all your global agents use what this agent learns about you",
        }[config.effective_scope]
        source = config.source.value.replace("_", " ")
        return plain_reply(f"Scope: {config.effective_scope.value}: {meaning}. ({source})")

    async def _invitations(self, location: Location, _command: Command) -> Reply:
        page = await self._app.spaces.invitations(location.actor, limit=PAGE_SIZE)
        if not page.items:
            return plain_reply("You have no invitations.")
        lines = [
            [
                Span(f"[{_invitation_id(invitation)}] ", "code"),
                Span(invitation.name, "bold"),
                Span(f", {invitation.inviter} invites you. {invitation.description}"[:DESCRIPTION]),
            ]
            for invitation in page.items
        ]
        return Reply([*lines, [], [Span("To join: "), Span("/memory accept <id>", "code")]])

    async def _answer_invitation(self, location: Location, command: Command) -> Reply:
        spaces, actor = self._app.spaces, location.actor
        for invitation in await all_items(partial(spaces.invitations, actor)):
            if _invitation_id(invitation) != command.id.lower():
                continue
            if command.name == "decline":
                await spaces.decline(actor, invitation.space_id)
                return plain_reply("Declined. Nobody is told.")
            space = await spaces.accept(actor, invitation.space_id)
            return plain_reply(f"You are a member of {space.name} now.")
        return plain_reply("You have no invitation with this id.", "Try: /memory invitations")

    async def _pause(self, location: Location, command: Command) -> Reply:
        if location.conversation_id is None:
            return plain_reply("This chat has no conversation to pause.")
        conversations = self._app.conversations
        if command.name == "resume":
            await conversations.resume(location.chat, location.conversation_id)
            return plain_reply("Resumed: this conversation is remembered again.")
        await conversations.pause(location.chat, location.conversation_id)
        return plain_reply("Paused: this conversation is not remembered until /memory resume.")

    async def _export(self, location: Location, _command: Command) -> Reply:
        user_id = location.actor.require_user()
        lines = [line async for line in self._app.users.export(location.actor, user_id)]
        content = b"".join(lines)
        text = [[Span(f"All your data: {len(lines)} lines.")]]
        return Reply(text, File("memory.jsonl", content))

    async def _help(self, _location: Location, _command: Command) -> Reply:
        return Reply(
            [
                [Span("Your memory", "bold")],
                *(
                    [Span(f"/memory {usage}", "code"), Span(f" - {description}")]
                    for usage, description, _ in USAGE.values()
                ),
            ]
        )


def refusal(error: RemembrancerError) -> Reply:
    """Return what a person is told of a command that failed."""
    names_field = error.field is not None and not isinstance(error, NotFound)
    reason = f"{error.field} {error.reason}" if names_field else error.reason
    return plain_reply(f"That did not work: {reason}.")


def confirmation(receipt: Receipt) -> str:
    """Return the confirmation code of an erasure; it changes with the rows to erase."""
    rows = json.dumps([str(receipt.user_id), receipt.rows], sort_keys=True)
    return hashlib.sha256(rows.encode()).hexdigest()[:6].upper()


def _invitation_id(invitation: Invitation) -> str:
    """Return the end of the space's id, which differs; ids begin with the time."""
    return invitation.space_id.hex[-8:]


def _list_reply(page: schemas.MemoryPage, command: Command, noun: str) -> Reply:
    if not page.items:
        return plain_reply(f"No {noun} {'on this page' if command.page > 1 else 'yet'}.")
    own = [memory for memory in page.items if memory.user_id is not None]
    ordered = sorted(own, key=lambda m: (m.category.value, m.created_at, m.id))
    lines: list[list[Span]] = [[Span(f"Your {noun}: {page.total}", "bold")]]
    for category, memories in groupby(ordered, key=lambda m: m.category):
        if command.name == "list":
            lines += [[], [Span(category.value.title(), "bold")]]
        lines += [[Span("• "), *_memory_line(memory)] for memory in memories]
    if shared := [memory for memory in page.items if memory.user_id is None]:
        lines += [[], [Span("Shared knowledge, told to everybody", "bold")]]
        lines += [[Span("• "), *_shared_line(memory)] for memory in shared]
    if page.next_cursor is not None:
        next_command = (
            f"{command.name} {command.category.value if command.category else ''}".strip()
        )
        lines += [[], [Span("More: "), Span(f"/memory {next_command} {command.page + 1}", "code")]]
    if own:
        lines += [[], [Span("To delete one: "), Span("/memory delete <id>", "code")]]
    return Reply(lines)


def _memory_line(memory: schemas.Memory) -> list[Span]:
    spans = _line(memory.id, memory.content, _origin(memory))
    if memory.kind is schemas.Kind.PLACE:
        spans.append(Span(f" (mentioned {memory.mention_count}x)"))
    return spans


def _origin(item: schemas.Memory | Hit) -> str:
    return "shared" if item.user_id is None else " ".join(origin(item).split())


def _shared_line(item: schemas.Memory | Hit) -> list[Span]:
    """Without an id, since nobody in a chat can change it."""
    return [Span(" ".join(item.content.split())), Span(" (shared)")]


def _line(memory_id: str, content: str, origin: str = "") -> list[Span]:
    spans = [Span(f"[{memory_id}] ", "code"), Span(" ".join(content.split()))]
    return [*spans, Span(f" ({origin})")] if origin else spans
