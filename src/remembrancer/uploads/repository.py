"""The only writer of uploads."""

from collections import Counter
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from remembrancer.db.rows import all_rows, first_row
from remembrancer.db.sql import statement
from remembrancer.db.tables import upload_parts
from remembrancer.jobs.queue import enqueue_sql
from remembrancer.uploads.schemas import Upload, UploadCounts, UploadOptions, UploadStatus

IMPORT: Final = "import"
"""The task that reads one upload."""

_sql = partial(
    statement,
    "remembrancer.uploads",
    "uploads",
    enqueue=lambda column: enqueue_sql(IMPORT, "upload_id", column),
)


async def add(connection: AsyncConnection, upload: Upload) -> None:
    values = upload.model_dump(include={"owner_id", "id", "name", "is_own"})
    await connection.execute(_sql("add"), values)


async def add_part(
    connection: AsyncConnection, upload: Upload, number: int, content: bytes
) -> None:
    values = _key(upload) | {"number": number, "content": content}
    await connection.execute(_sql("add_part"), values)


async def part(connection: AsyncConnection, upload: Upload, number: int) -> bytes | None:
    """Return a part of the file, counted from 0; null after the last."""
    found = await connection.execute(_sql("part"), _key(upload) | {"number": number})
    content = found.scalar_one_or_none()
    return None if content is None else bytes(content)


async def enqueue(connection: AsyncConnection, upload: Upload) -> None:
    await connection.execute(_sql("enqueue"), _key(upload))


async def list_of(connection: AsyncConnection, user_id: UUID) -> list[Upload]:
    return await all_rows(connection, Upload, _sql("list"), {"user_id": user_id})


async def lock(
    connection: AsyncConnection, upload_id: UUID, user_id: UUID | None = None
) -> Upload | None:
    """Lock and return an upload; of a user, if given."""
    return await first_row(connection, Upload, _sql("lock"), {"id": upload_id, "user_id": user_id})


async def change(
    connection: AsyncConnection,
    upload: Upload,
    *,
    status: UploadStatus | None = None,
    format_: str | None = None,
    total: int | None = None,
    stored: int | None = None,
    counts: UploadCounts | None = None,
    options: UploadOptions | None = None,
    reason: str | None = None,
) -> None:
    """Set what is given, and the reason."""
    values = {
        "status": status,
        "format": format_,
        "total": total,
        "stored": stored,
        "counts": counts and counts.model_dump_json(),
        "options": options and options.model_dump_json(),
        "reason": reason,
    }
    await connection.execute(_sql("change"), _key(upload) | values)


async def delete_parts(connection: AsyncConnection, upload: Upload) -> None:
    await connection.execute(_sql("delete_parts"), _key(upload))


async def delete(connection: AsyncConnection, upload: Upload) -> None:
    await connection.execute(_sql("delete"), _key(upload))


async def delete_old(connection: AsyncConnection, before: datetime, most: int) -> int:
    """Delete up to ``most`` uploads from before a time that nobody reads; return how many."""
    binds = {"before": before, "most": most}
    return (await connection.execute(_sql("delete_old"), binds)).rowcount


async def erase(connection: AsyncConnection, user_id: UUID) -> Counter[str]:
    """Delete the uploads of a user; return the rows deleted by table."""
    uploads = [upload.id for upload in await list_of(connection, user_id)]
    count = select(func.count()).where(upload_parts.c.upload_id.in_(uploads))
    parts = (await connection.execute(count)).scalar_one()
    removed = await connection.execute(_sql("erase"), {"user_id": user_id})
    return Counter(uploads=removed.rowcount, upload_parts=parts)


def _key(upload: Upload) -> dict[str, object]:
    return {"owner_id": upload.owner_id, "id": upload.id}
