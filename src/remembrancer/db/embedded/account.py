"""The operating-system user of the server."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from remembrancer.errors import DatabaseSetupError

if sys.platform != "win32":
    import pwd

PREFERRED = ("remembrancer", "postgres", "nobody")
"""Accounts for a server that root starts, in order of preference."""


@dataclass(frozen=True)
class Account:
    """An unprivileged user, since Postgres refuses to run as root."""

    name: str
    uid: int
    gid: int


def server_account(cluster: Path) -> Account | None:
    """Return the user for the server, null for the current one; refuse the cluster of another."""
    if sys.platform == "win32":
        return None
    owner = cluster.stat().st_uid if cluster.exists() else None
    if os.geteuid() == 0:
        return _below_root(cluster, owner)
    if owner not in {None, os.geteuid()}:
        raise _wrong_owner(cluster, owner)
    return None


def _below_root(cluster: Path, owner: int | None) -> Account:
    accounts = _unprivileged()
    if not accounts:
        raise DatabaseSetupError(
            f"Postgres does not run as root, and no user {', '.join(PREFERRED)} exists. "
            "Create one (useradd --system remembrancer), or run as an ordinary user."
        )
    if owner is None:
        return accounts[0]
    # a new user, such as that of a postgresql package, must not orphan the cluster
    for account in accounts:
        if account.uid == owner:
            return account
    raise _wrong_owner(cluster, owner)


def _unprivileged() -> list[Account]:
    entries = {entry.pw_name: entry for entry in pwd.getpwall()}
    preferred = (entries[name] for name in PREFERRED if name in entries)
    return [Account(e.pw_name, e.pw_uid, e.pw_gid) for e in preferred if e.pw_uid != 0]


def user_name(uid: int | None = None) -> str:
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "this user")
    uid = os.geteuid() if uid is None else uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _wrong_owner(cluster: Path, owner: int | None) -> DatabaseSetupError:
    return DatabaseSetupError(
        f"The database in {cluster} belongs to {user_name(owner)}, and this process runs as "
        f"{user_name()}. Run as the user who used this data directory first, choose another "
        "data directory, or hand the whole directory over with chown -R."
    )
