"""Export of a person's whole memory."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from remembrancer import checks
from remembrancer.access import Actor
from remembrancer.backend import Backend
from remembrancer.errors import InvalidInput, NotFound
from remembrancer.portability import json_ld, json_lines, markdown, repository
from remembrancer.portability.schemas import ExportFormat
from remembrancer.user_names import AnyUser

ACTION: Final = "user.export"
_WRITERS: Final = {
    ExportFormat.JSON: json_lines.write,
    ExportFormat.MARKDOWN: markdown.write,
    ExportFormat.JSON_LD: json_ld.write,
}


class Export:
    """Exports everything of one user."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def export(
        self,
        actor: Actor,
        user_id: AnyUser,
        *,
        format: str = "json",  # noqa: A002 - the word of all doors
    ) -> AsyncIterator[bytes]:
        """Yield everything of a user as a file, in parts, without what they have forgotten.

        ``format`` is ``json`` (JSON Lines; each part is a line), ``markdown`` (a zip archive of
        notes) or ``json-ld``. Raises ``NotFound`` before the first part for an unknown user, or
        somebody else, and ``InvalidInput`` for another format.
        """
        if format not in set(ExportFormat):
            raise InvalidInput(f"must be {', '.join(ExportFormat)}", field="format")
        user_id = await self._backend.database.user_id(user_id)
        try:
            acting = actor.acting_for(user_id)
            async with self._backend.database.transaction(acting) as (connection, acting):
                owner_id = (await checks.find_user(connection, acting)).id
        except NotFound as error:
            await self._backend.refuse(actor, ACTION, [str(user_id)], error)
        actor = actor.acting_for(user_id).now(owner_id)
        await self._backend.reads.note(actor, ACTION, [(owner_id, str(owner_id))])
        records = repository.records(self._backend.database, owner_id)
        async for part in _WRITERS[ExportFormat(format)](records):
            yield part
            await asyncio.sleep(0)  # others have their turn
