"""Files that only their owner can read."""

import os
import secrets
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write or replace a file. A crash never leaves half of it."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    fresh.replace(path)
