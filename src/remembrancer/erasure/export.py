"""Export of everything stored about a user."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from pydantic_core import to_jsonable_python
from sqlalchemy import Column, Select, Table, select, tuple_

from remembrancer import checks
from remembrancer.access import Actor
from remembrancer.backend import Backend
from remembrancer.db import tables
from remembrancer.errors import NotFound
from remembrancer.user_names import AnyUser

Line = dict[str, Any]

ACTION: Final = "user.export"
PAGE: Final = 500
"""Rows read at a time, so that a large export needs little memory."""


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one table that belong to a user."""

    type: str
    table: Table
    owner: str = "owner_id"
    inner: frozenset[str] = frozenset()
    """Columns that are left out, such as keys for look-ups."""
    through: Table | None = None
    """A table that connects rows to the user, where the table itself does not."""

    def rows(self, user_id: UUID, after: Sequence[Any] | None) -> Select[Any]:
        """Return the statement for the next page."""
        keys = list(self.table.primary_key.columns)
        statement = select(self.table).order_by(*keys).limit(PAGE)
        if self.through is None:
            statement = statement.where(self.table.c[self.owner] == user_id)
        else:
            own = select(self.through.c[f"{self.type}_id"]).filter_by(user_id=user_id)
            statement = statement.where(self.table.c.id.in_(own))
        if after is not None:
            statement = statement.where(tuple_(*keys) > tuple_(*after))
        return statement

    @property
    def shown(self) -> list[Column[Any]]:
        return [c for c in self.table.columns if c.name not in {self.owner, *self.inner}]


SECTIONS: Final = (
    Section("user", tables.users, "id"),
    Section("platform_link", tables.platform_links, "user_id"),
    Section("preference", tables.memory_preferences, "user_id"),
    Section("saved_filter", tables.saved_filters, "user_id"),
    Section("space", tables.spaces, "", through=tables.space_members),
    Section("membership", tables.space_members, "user_id"),
    Section("space_refusal", tables.space_refusals, "user_id"),
    Section("memory", tables.memories, inner=frozenset({"content_hash", "subject_key", "in_use"})),
    Section("memory_version", tables.memory_versions),
    Section("mention", tables.mentions),
    Section("association", tables.associations, inner=frozenset({"shared_space_id"})),
    Section("conversation", tables.conversations, "", through=tables.participants),
    Section("message", tables.messages),
    Section("chunk", tables.chunks),
    Section("withheld_message", tables.withheld_messages),
    Section("undo_record", tables.undo_records),
    Section("api_key", tables.api_keys, "user_id", inner=frozenset({"hash"})),
)

DERIVED: Final = {
    "recall_items": "made from memories, messages and chunks",
    "postings": "made from memories, messages and chunks",
    "item_changes": "a count of changes to items",
    "reembeddings": "made from memories, messages and chunks",
    "participants": "the export has the conversations",
    "idempotency_keys": "ids of answers, stored for a day",
    "sessions": "of browsers that are signed in; they end by themselves",
    "uploads": "files that they gave themselves, until they are imported",
    "upload_parts": "files that they gave themselves, until they are imported",
    "sign_in_links": "they work once, within a day",
    "frozen_contexts": "made from memories, which the export has",
    "frozen_lines": "made from memories, which the export has",
    "audit_log": "read it with the audit log's own filters",
}
"""Tables with a user's rows that an export leaves out, and the reason."""


class Export:
    """Exports the rows of one user."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def lines(self, actor: Actor, user_id: AnyUser) -> AsyncIterator[Line]:
        """Yield one JSON object after another, each with a ``type``; the user comes first.

        Raises ``NotFound`` before the first one for an unknown user, or somebody else.
        """
        user_id = await self._backend.database.user_id(user_id)
        try:
            acting = actor.acting_for(user_id)
            async with self._backend.database.transaction(acting) as (connection, acting):
                owner_id = (await checks.find_user(connection, acting)).id
        except NotFound as error:
            await self._backend.refuse(actor, ACTION, [str(user_id)], error)
        actor = actor.acting_for(user_id).now(owner_id)
        await self._backend.reads.note(actor, ACTION, [(owner_id, str(owner_id))])
        for section in SECTIONS:
            async for line in self._section(owner_id, section):
                yield line

    async def _section(self, owner_id: UUID, section: Section) -> AsyncIterator[Line]:
        after: Sequence[Any] | None = None
        keys = [column.name for column in section.table.primary_key.columns]
        names = ["id"] if section.type == "user" else []
        names += [column.name for column in section.shown]
        while True:
            # Users may not read keys and undo records; each statement selects one user's rows.
            async with self._backend.database.system() as connection:
                rows = (await connection.execute(section.rows(owner_id, after))).all()
            for row in rows:
                values = {name: row._mapping[name] for name in names}
                yield {"type": section.type, **to_jsonable_python(values)}
            if len(rows) < PAGE:
                return
            after = [rows[-1]._mapping[name] for name in keys]
