"""What each command does: it calls a service as the person who typed it. No agent is asked."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Final
from uuid import UUID

from remembrancer.access import Actor, Scope
from remembrancer.app import Remembrancer
from remembrancer.chat.parser import USAGE, Command, ParseError, parse
from remembrancer.chat.replies import File, Piece, Reply, said
from remembrancer.erasure.schemas import Receipt
from remembrancer.errors import NotFound, RemembrancerError, SimilarMemoryExists
from remembrancer.memories.schemas import (
    Category,
    Kind,
    Memory,
    MemoryCreate,
    MemoryFilter,
    MemoryPage,
    MemoryUpdate,
    Outcome,
)
from remembrancer.preferences.schemas import PreferenceUpdate
from remembrancer.recall.schemas import RecallQuery
from remembrancer.validation import made

PAGE: Final = 20
FOUND: Final = 10


@dataclass(frozen=True, slots=True)
class Place:
    """Where a command was typed: by whom, to which agent, in which conversation."""

    actor: Actor
    """Acts for the person, through the agent."""
    conversation_id: UUID | None = None


Handle = Callable[[Place, Command], Awaitable[Reply]]


class Commands:
    """Answers ``/memory`` for one store."""

    def __init__(self, app: Remembrancer) -> None:
        self._app = app
        self._handlers: dict[str, Handle] = {
            "list": self._list,
            "search": self._search,
            "show": self._show,
            "add": self._add,
            "edit": self._edit,
            "delete": self._delete,
            "delete all": self._delete_all,
            "scope": self._scope,
            "places": self._places,
            "pause": self._pause,
            "resume": self._pause,
            "export": self._export,
            "help": self._help,
        }

    async def answer(self, place: Place, text: str) -> Reply | None:
        """Return the answer to what somebody typed; None unless it begins with ``/memory``.

        What is refused is answered with the reason.
        """
        command = parse(text)
        if command is None:
            return None
        if isinstance(command, ParseError):
            return said(command.reason, f"Try: {command.nearest}")
        try:
            place.actor.require_user()
            return await self._handlers[command.name](place, command)
        except SimilarMemoryExists as error:
            which = error.extra["memory_id"]
            return said(
                f"There is a memory on this already: {which}.", f"Try: /memory edit {which} <text>"
            )
        except RemembrancerError as error:
            reason = error.reason if error.field is None else f"{error.field} {error.reason}"
            if isinstance(error, NotFound):
                reason = error.reason
            return said(f"That did not work: {reason}.")

    async def _list(self, place: Place, command: Command) -> Reply:
        categories = [command.category] if command.category else []
        wanted = MemoryFilter(categories=categories)
        page = await self._page(place, wanted, command.page)
        return _listed(page, command, "memories")

    async def _places(self, place: Place, command: Command) -> Reply:
        page = await self._page(place, MemoryFilter(kinds=[Kind.PLACE]), command.page)
        return _listed(page, command, "places")

    async def _page(self, place: Place, wanted: MemoryFilter, number: int) -> MemoryPage:
        page = await self._app.memories.list(place.actor, wanted, limit=PAGE)
        for _ in range(number - 1):
            if page.next_cursor is None:
                return page.model_copy(update={"memories": []})
            page = await self._app.memories.list(
                place.actor, wanted, limit=PAGE, cursor=page.next_cursor
            )
        return page

    async def _search(self, place: Place, command: Command) -> Reply:
        wanted = made(RecallQuery, query=command.text, limit=FOUND, sources=["memory"])
        answer = await self._app.memories.recall(place.actor, wanted)
        if not answer.hits:
            return said("Nothing is remembered about that.")
        return Reply(
            [_line(hit.id, hit.content, shared=hit.user_id is None) for hit in answer.hits]
        )

    async def _show(self, place: Place, command: Command) -> Reply:
        found = await self._app.memories.get(place.actor, command.id)
        lines = [
            _line(found.id, found.content, shared=found.user_id is None),
            [
                Piece(
                    f"{found.category.value}, {found.kind.value}, mentioned {found.mention_count}x"
                )
            ],
        ]
        for version in reversed(found.versions):
            when = version.recorded_at.date().isoformat()
            lines.append(
                [Piece(f"v{version.version} ", "bold"), Piece(f"{when}: {version.content}")]
            )
        return Reply(lines)

    async def _add(self, place: Place, command: Command) -> Reply:
        statement = made(
            MemoryCreate,
            content=command.text,
            category=command.category or Category.OTHER,
            platform=place.actor.entry_point,
        )
        written = await self._app.memories.remember(place.actor, statement, source="chat")
        known = written.outcome is Outcome.MENTIONED
        word = "I knew that already: " if known else "Remembered: "
        return Reply([[Piece(word), *_line(written.memory.id, written.memory.content)]])

    async def _edit(self, place: Place, command: Command) -> Reply:
        changes = made(MemoryUpdate, content=command.text)
        updated = await self._app.memories.update(place.actor, command.id, changes, source="chat")
        version = f" (version {updated.version})"
        return Reply([[Piece("Updated: "), *_line(updated.id, updated.content), Piece(version)]])

    async def _delete(self, place: Place, command: Command) -> Reply:
        gone = await self._app.memories.forget(place.actor, command.id)
        return said(f"Deleted: '{gone.content}'")

    async def _delete_all(self, place: Place, command: Command) -> Reply:
        user_id = place.actor.require_user()
        users = self._app.users
        receipt = await users.erase(place.actor, user_id, memories_only=True)
        code = confirmation(receipt)
        if not receipt.total:
            return said("Nothing is remembered.")
        counts = (
            f"{receipt.rows.get('memories', 0)} memories and "
            f"{receipt.rows.get('messages', 0)} messages"
        )
        if command.text != code:
            return said(
                *(["That is not the code."] if command.text else []),
                f"This erases {counts}, of all your agents, and cannot be undone.",
                f"To confirm: /memory delete all {code}",
            )
        receipt = await users.erase(place.actor, user_id, memories_only=True, dry_run=False)
        return said(f"Erased: {counts}, {receipt.total} rows in all.")

    async def _scope(self, place: Place, command: Command) -> Reply:
        user_id, agent_id = place.actor.require_user(), place.actor.agent_id
        if agent_id is None:
            return said("No agent is meant here.")
        preferences = self._app.preferences
        if command.text == "reset":
            await preferences.reset(place.actor, user_id, agent_id)
        elif command.text:
            allow = PreferenceUpdate(allow_agent_specific_memory=command.text == Scope.AGENT)
            await preferences.set(place.actor, user_id, agent_id, allow)
        now = await preferences.scope(place.actor, user_id, agent_id)
        meaning = {
            Scope.AGENT: "this agent keeps what it learns of you to itself",
            Scope.GLOBAL: "this agent shares what it learns of you with all your agents",
        }[now.effective_scope]
        why = now.source.value.replace("_", " ")
        return said(f"Scope: {now.effective_scope.value}. That is, {meaning}. ({why})")

    async def _pause(self, place: Place, command: Command) -> Reply:
        if place.conversation_id is None:
            return said("There is no conversation here to pause.")
        if command.name == "resume":
            await self._app.conversations.resume(place.actor, place.conversation_id)
            return said("Resumed: what is said here is remembered again.")
        await self._app.conversations.pause(place.actor, place.conversation_id)
        return said("Paused: nothing that is said here is remembered, until /memory resume.")

    async def _export(self, place: Place, _command: Command) -> Reply:
        user_id = place.actor.require_user()
        lines = [
            json.dumps(line, ensure_ascii=False)
            async for line in self._app.users.export(place.actor, user_id)
        ]
        content = "".join(f"{line}\n" for line in lines).encode()
        text = [[Piece(f"Everything that is kept of you: {len(lines)} lines.")]]
        return Reply(text, File("memory.jsonl", content))

    async def _help(self, _place: Place, _command: Command) -> Reply:
        return Reply(
            [
                [Piece("Your memory", "bold")],
                *(
                    [Piece(f"/memory {usage}", "code"), Piece(f" - {what}")]
                    for usage, what, _ in USAGE.values()
                ),
            ]
        )


def confirmation(receipt: Receipt) -> str:
    """Return the code that confirms an erasure: it stands for exactly these rows, counted now."""
    counted = json.dumps([str(receipt.user_id), receipt.rows], sort_keys=True)
    return hashlib.sha256(counted.encode()).hexdigest()[:6].upper()


def _listed(page: MemoryPage, command: Command, what: str) -> Reply:
    if not page.memories:
        return said(f"No {what} {'there' if command.page > 1 else 'yet'}.")
    ordered = sorted(page.memories, key=lambda one: (one.category.value, one.created_at, one.id))
    lines: list[list[Piece]] = [[Piece(f"Your {what}: {page.total}", "bold")]]
    for category, inside in groupby(ordered, key=lambda one: one.category):
        if command.name == "list":
            lines += [[], [Piece(category.value.title(), "bold")]]
        lines += [[Piece("• "), *_of(one)] for one in inside]
    if page.next_cursor is not None:
        again = f"{command.name} {command.category.value if command.category else ''}".strip()
        lines += [[], [Piece("More: "), Piece(f"/memory {again} {command.page + 1}", "code")]]
    return Reply(lines)


def _of(memory: Memory) -> list[Piece]:
    pieces = _line(memory.id, memory.content, shared=memory.user_id is None)
    if memory.kind is Kind.PLACE:
        pieces.append(Piece(f" (mentioned {memory.mention_count}x)"))
    return pieces


def _line(memory_id: str, content: str, *, shared: bool = False) -> list[Piece]:
    on_one_line = " ".join(content.split())
    return [Piece(f"[{memory_id}] ", "code"), Piece(on_one_line), *([Piece(" (shared)")] * shared)]
