"""The admin key of this machine: a file only its owner can read."""

import os
import secrets
from pathlib import Path

from remembrancer.app import Remembrancer
from remembrancer.errors import ConfigurationError
from remembrancer.keys.service import PREFIX

FILE = "admin.key"
_LEAST = len(PREFIX) + 32


async def ensure_admin_key(app: Remembrancer) -> Path:
    """Make the key at the first start, let the store know it, and return where it lies."""
    path = app.settings.data_dir.expanduser().absolute() / FILE
    try:
        await app.keys.adopt(f"admin key in {path}"[:200], _kept(path))
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise ConfigurationError(f"the admin key {path}: {reason}") from error
    return path


def _kept(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        _write(path, PREFIX + secrets.token_urlsafe(32))
    secret = path.read_text(encoding="ascii", errors="replace").strip()
    if not secret.startswith(PREFIX) or len(secret) < _LEAST:
        raise ConfigurationError(f"{path} holds no key; remove it, and a new one is made")
    path.chmod(0o600)
    return secret


def _write(path: Path, secret: str) -> None:
    # beside its place first, so that a crash never leaves half a key
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f"{secret}\n")
    fresh.replace(path)
