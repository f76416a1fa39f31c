"""Uploads: exports that people give the pages. A job checks them, then imports them."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from remembrancer import audit
from remembrancer.access import Actor, Role
from remembrancer.backend import Backend
from remembrancer.db.retries import retries_deadlock
from remembrancer.errors import Conflict, NotFound
from remembrancer.ids import new_uuid
from remembrancer.paging import Items
from remembrancer.uploads import repository
from remembrancer.uploads.schemas import Upload, UploadCounts, UploadOptions, UploadStatus
from remembrancer.users import repository as users

PART_BYTES: Final = 1 << 20
"""Bytes of a part, in which a file is stored and read."""
MOST: Final = 5
"""Uploads that a user may have at a time, imported ones too."""


class Uploads:
    """Uploads of users. Their files are in the database until they are imported."""

    def __init__(self, backend: Backend) -> None:
        self._database = backend.database

    async def create(self, actor: Actor, name: str, parts: AsyncIterator[bytes]) -> Upload:
        """Store a file in parts and queue its check.

        What a user uploads may have their own words alone; for others, admins do. Raises
        ``Conflict`` for a user who has five uploads, and ``WorkspaceMoved`` amid a move: the parts
        can be read once.
        """
        async with self._database.system_for(actor) as (connection, actor):
            owner_id = await users.hold_current(connection, actor.require_user())
            if len(await repository.list_of(connection, owner_id)) >= MOST:
                raise Conflict(f"there are {MOST} files already; remove one first", field="file")
            upload = Upload(
                id=new_uuid(),
                owner_id=owner_id,
                name=name,
                format=None,
                is_own=actor.role is Role.USER,
                options=UploadOptions(),
                status=UploadStatus.CHECKING,
                total=0,
                stored=0,
                counts=UploadCounts(),
                reason=None,
                created_at=datetime.now(UTC),
            )
            await repository.add(connection, upload)
            number = 0
            async for part in parts:
                await repository.add_part(connection, upload, number, part)
                number += 1
            await repository.enqueue(connection, upload)
            await audit.note(connection, actor, "upload.create", [str(upload.id)])
        return upload

    async def list(self, actor: Actor) -> Items[Upload]:
        """Return the uploads of the actor's user, the newest first."""
        async with self._database.system_for(actor) as (connection, actor):
            return Items(items=await repository.list_of(connection, actor.require_user()))

    @retries_deadlock
    async def start(
        self, actor: Actor, upload_id: UUID, options: UploadOptions | None = None
    ) -> Upload:
        """Queue the import of a checked upload, or again what failed.

        With ``options`` it is checked again, to be read in another way.

        Raises ``NotFound`` for an unknown upload or somebody else's, and ``Conflict`` for one
        that is imported or being read.
        """
        async with self._database.system_for(actor) as (connection, actor):
            upload = await repository.lock(connection, upload_id, actor.require_user())
            if upload is None:
                raise NotFound("no such upload", field="upload_id")
            if upload.status not in {UploadStatus.READY, UploadStatus.FAILED}:
                raise Conflict("is imported already, or being read", field="upload_id")
            if (await users.get(connection, actor.require_user())).paused_at is not None:
                raise Conflict("remembering is paused; resume it first", field="user_id")
            checked = upload.total > 0 and options is None
            status = UploadStatus.STORING if checked else UploadStatus.CHECKING
            await repository.change(connection, upload, status=status, stored=0, options=options)
            await repository.enqueue(connection, upload)
            await audit.note(connection, actor, "upload.import", [str(upload_id)])
            return upload.model_copy(update={"status": status})

    @retries_deadlock
    async def remove(self, actor: Actor, upload_id: UUID) -> None:
        """Delete an upload; what was imported of it stays.

        Raises ``NotFound`` for an unknown upload, or somebody else's.
        """
        async with self._database.system_for(actor) as (connection, actor):
            upload = await repository.lock(connection, upload_id, actor.require_user())
            if upload is None:
                raise NotFound("no such upload", field="upload_id")
            await repository.delete(connection, upload)
            await audit.note(connection, actor, "upload.delete", [str(upload_id)])

    # For the job ------------------------------------------------------------------------

    @retries_deadlock
    async def due(self, upload_id: UUID) -> Upload | None:
        """Return an upload that is to be read; null for any other."""
        async with self._database.system() as connection:
            upload = await repository.lock(connection, upload_id)
        return upload if upload is not None and upload.is_busy else None

    async def parts(self, upload: Upload) -> AsyncIterator[bytes]:
        """Yield the file of an upload, in parts."""
        number = 0
        while True:
            async with self._database.system() as connection:
                part = await repository.part(connection, upload, number)
            if part is None:
                return
            yield part
            number += 1

    @retries_deadlock
    async def note_progress(self, upload: Upload, stored: int) -> None:
        """Say how many messages and memories have been looked at."""
        async with self._database.system() as connection:
            await repository.change(connection, upload, stored=stored)

    @retries_deadlock
    async def note_found(
        self, upload: Upload, format_: str, total: int, counts: UploadCounts
    ) -> None:
        """Say what is in an upload: it can be imported."""
        async with self._database.system() as connection:
            await repository.change(
                connection,
                upload,
                status=UploadStatus.READY,
                format_=format_,
                total=total,
                counts=counts,
            )

    @retries_deadlock
    async def finish(self, upload: Upload, counts: UploadCounts) -> None:
        """Say what was stored, and delete the file."""
        async with self._database.system() as connection:
            await repository.change(
                connection, upload, status=UploadStatus.DONE, stored=upload.total, counts=counts
            )
            await repository.delete_parts(connection, upload)

    @retries_deadlock
    async def fail(self, upload: Upload, reason: str) -> None:
        """Say why an upload cannot be imported."""
        async with self._database.system() as connection:
            await repository.change(connection, upload, status=UploadStatus.FAILED, reason=reason)
