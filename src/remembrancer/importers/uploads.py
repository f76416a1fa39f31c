"""The job behind an upload: check it, or import it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from remembrancer.access import Actor, Role
from remembrancer.app import Remembrancer
from remembrancer.errors import RemembrancerError, Unavailable
from remembrancer.importers.counts import ImportResult
from remembrancer.importers.exports import Export, open_export
from remembrancer.importers.importer import Importer
from remembrancer.importers.options import DateOrder, Options
from remembrancer.importers.parse import invalid
from remembrancer.importers.progress import ImportProgress
from remembrancer.importers.users import PlatformId
from remembrancer.text import plural
from remembrancer.uploads.repository import IMPORT
from remembrancer.uploads.schemas import Upload, UploadCounts, UploadStatus

_EVERY: Final = 1.0
"""Seconds between two notes of progress."""
_UNPACKED: Final = 4
"""How many times as large as an upload a file in it may be."""
_COUNTS: Final = {field.name for field in fields(ImportResult)} & UploadCounts.model_fields.keys()


def serve_uploads(app: Remembrancer) -> None:
    """Let the worker of this process import uploads."""
    app.tasks[IMPORT] = UploadJob(app).run


class UploadJob:
    """Reads uploads. Again after an interruption: what is stored already is skipped."""

    def __init__(self, app: Remembrancer) -> None:
        self._app = app

    async def run(self, upload_id: str) -> Mapping[str, int]:
        upload = await self._app.uploads.due(UUID(upload_id))
        if upload is None:
            return {}  # removed, erased or done
        try:
            with TemporaryDirectory() as folder:
                path = Path(folder) / upload.name
                with path.open("wb") as file:
                    async for part in self._app.uploads.parts(upload):
                        file.write(part)
                await self._read(upload, path)
        except Unavailable:
            raise  # the worker tries again
        except RemembrancerError as error:
            await self._app.uploads.fail(upload, str(error))
        except Exception:
            await self._app.uploads.fail(upload, "an unexpected error occurred; tell an admin")
            raise
        return {}

    async def _read(self, upload: Upload, path: Path) -> None:
        actor = Actor(Role.SERVICE, user_id=upload.owner_id, entry_point="web")
        user = await self._app.users.get(actor, upload.owner_id)
        said = upload.options
        options = Options(
            me=said.me,
            date_order=DateOrder(said.date_order) if said.date_order else None,
            time_zone=ZoneInfo(said.time_zone or user.time_zone),
            longest=self._app.settings.limits.message_characters,
        )
        most = self._app.settings.limits.upload_bytes * _UNPACKED
        export = await asyncio.to_thread(open_export, path, options=options, most=most)
        if upload.is_own:
            check_alone(export)
            export.owner = upload.owner_id
        stored = ImportProgress(self._app.database)
        importer = Importer(self._app, actor, stored.advance)
        found = await importer.check(export)
        importer.result.first, importer.result.last = found.first, found.last
        if upload.status is UploadStatus.CHECKING:
            await importer.preview(export)
            counts = _counts(importer.result)
            await self._app.uploads.note_found(upload, export.format, found.total, counts)
            return
        stored.total = found.total
        async with stored, self._noting(upload, importer.result):
            await importer.store(export)
        await self._app.uploads.finish(upload, _counts(importer.result))

    @asynccontextmanager
    async def _noting(self, upload: Upload, result: ImportResult) -> AsyncIterator[None]:
        async def note() -> None:
            while True:
                await asyncio.sleep(_EVERY)
                await self._app.uploads.note_progress(upload, result.total)

        noting = asyncio.create_task(note())
        try:
            yield
        finally:
            noting.cancel()
            await asyncio.gather(noting, return_exceptions=True)


def check_alone(export: Export) -> None:
    """Raise ``InvalidInput`` for an export with words of others than its owner.

    Whoever uploads a file has written it, perhaps: it must not speak for others, nor claim their
    platform ids.
    """
    people: set[PlatformId] = set()
    for transcript in export.transcripts():
        people |= {(transcript.platform, key) for key in transcript.people}
    people |= {(m.platform, m.about) for m in export.memories() if m.about is not None}
    account = export.account()
    own = {(account.platform, account.platform_user_id)} if account else set()
    others = len(people - own) if own else len(people) - 1
    if others > 0:
        whom = plural(others, "other person", "other people")
        raise invalid(export.name, f"has words of {whom}; ask an admin to import it")


def _counts(result: ImportResult) -> UploadCounts:
    return UploadCounts.model_validate({name: getattr(result, name) for name in _COUNTS})
