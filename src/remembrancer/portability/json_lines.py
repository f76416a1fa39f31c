"""An export as JSON Lines: one record a line. Pure."""

import json
from collections.abc import AsyncIterator

from remembrancer.portability.schemas import Record


async def write(records: AsyncIterator[Record]) -> AsyncIterator[bytes]:
    """Yield the file, a line at a time."""
    async for record in records:
        yield line(record)


def line(record: Record) -> bytes:
    """Return a record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
