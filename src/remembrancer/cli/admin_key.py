"""The admin key of this machine, in a file that only its owner can read."""

import secrets
from pathlib import Path

from remembrancer.app import Remembrancer
from remembrancer.cli.private_file import write_private
from remembrancer.errors import ConfigurationError
from remembrancer.keys.service import PREFIX

FILE = "admin.key"
_MIN_LENGTH = len(PREFIX) + 32


async def ensure_admin_key(app: Remembrancer) -> tuple[Path, bool]:
    """Return the path of the admin key, and whether the key is valid."""
    path = app.settings.data_dir.expanduser().absolute() / FILE
    try:
        valid = await app.keys.adopt(f"admin key in {path}"[:200], _read_or_create(path))
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise ConfigurationError(f"the admin key {path}: {reason}") from error
    return path, valid


def _read_or_create(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        write_private(path, f"{PREFIX}{secrets.token_urlsafe(32)}\n")
    secret = path.read_text(encoding="ascii", errors="replace").strip()
    if not secret.startswith(PREFIX) or len(secret) < _MIN_LENGTH:
        raise ConfigurationError(f"{path} has no valid key; remove the file to get a new key")
    path.chmod(0o600)
    return secret
