"""Turns of an export on disk, by conversation and in order, so that memory does not grow with them.

A temporary database of SQLite has no name that others could open, is in memory while it is small,
and is gone with the process, however that ends.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from datetime import datetime
from itertools import chain, islice
from types import TracebackType
from typing import Final, Self

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.exported_conversations import Turn, Turns

MOST_HELD: Final = 5_000
"""Turns of a conversation that are in memory."""
_TABLES: Final = """
    PRAGMA cache_size = -8000; PRAGMA journal_mode = OFF;
    CREATE TABLE turns (chat, first REAL, second REAL, turn TEXT);
    BEGIN
"""
_BATCH: Final = 1_000

Chat = str | int


class Spool:
    """Holds turns until the end of its ``with`` block."""

    def __init__(self) -> None:
        self._opened: sqlite3.Connection | None = None
        self._rows: list[tuple[Chat, float, float, str]] = []
        self._counts: Counter[Chat] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._opened is not None:
            self._opened.close()

    def hold(self, turns: Iterable[Turn]) -> Collection[Turn]:
        """Return the turns of a conversation, in memory if they are few."""
        turns = iter(turns)
        few = list(islice(turns, MOST_HELD))
        following = next(turns, None)
        if following is None:
            return few
        for turn in chain(few, (following,), turns):
            self.add(0, turn)
        return self.turns(0)

    def chats(self) -> list[Chat]:
        return list(self._counts)

    def add(self, chat: Chat, turn: Turn, *rank: float) -> None:
        """Add a turn to a conversation, in which turns are in order of their two ranks."""
        first, second = (*rank, 0.0, 0.0)[:2]
        self._rows.append((chat, first, second, _packed(turn)))
        self._counts[chat] += 1
        if len(self._rows) == _BATCH:
            self._write()

    def join(self, chat: Chat, other: Chat) -> None:
        """Let the turns of a conversation be of another one."""
        self._counts[other] += self._counts.pop(chat)
        self._ordered().execute("UPDATE turns SET chat = ? WHERE chat = ?", (other, chat))

    def turns(self, chat: Chat) -> Collection[Turn]:
        """Return the turns of a conversation, to which no more are added."""
        turns = Turns(self._counts[chat], lambda: self._read(chat))
        return turns if len(turns) > MOST_HELD else list(turns)

    def _ordered(self) -> sqlite3.Connection:
        database = self._write()
        database.execute("CREATE INDEX IF NOT EXISTS in_order ON turns (chat, first, second)")
        return database

    def _write(self) -> sqlite3.Connection:
        if self._opened is None:
            # An export may be read by one thread after the other.
            self._opened = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            self._opened.executescript(_TABLES)
        self._opened.executemany("INSERT INTO turns VALUES (?, ?, ?, ?)", self._rows)
        self._rows.clear()
        return self._opened

    def _read(self, chat: Chat) -> Iterator[Turn]:
        query = "SELECT turn FROM turns WHERE chat = ? ORDER BY first, second, rowid"
        with closing(self._ordered().execute(query, (chat,))) as cursor:
            for (text,) in cursor:
                yield _unpacked(text)


def _packed(turn: Turn) -> str:
    at = turn.sent_at.isoformat() if turn.sent_at else None
    fields = (turn.role.value, turn.content, turn.sender, turn.platform_user_id, at)
    return json.dumps((*fields, turn.message_id))


def _unpacked(text: str) -> Turn:
    role, content, sender, platform_user_id, at, message_id = json.loads(text)
    sent_at = datetime.fromisoformat(at) if at else None
    return Turn(MessageRole(role), content, sender, platform_user_id, sent_at, message_id)
