"""Where the server listens: a private unix socket, or loopback TCP on Windows."""

import os
import secrets
import shutil
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from remembrancer.db.embedded.account import Account

# not $TMPDIR, whose length may break the 107 bytes of a socket path, and not $XDG_RUNTIME_DIR,
# which goes when the user logs out and is closed to the user that root steps down to
SOCKET_PARENT = Path("/tmp")  # noqa: S108 - mkdtemp makes a directory nobody else can enter
SOCKET_PREFIX = "remembrancer-"
SUPERUSER = "postgres"


@dataclass(frozen=True)
class Endpoint:
    """An address for the server to listen at."""

    host: str
    """Socket directory, or the address on Windows."""
    port: int
    password: str | None = None

    def options(self) -> dict[str, str]:
        """The server settings that make it listen here and nowhere else."""
        if self.password is not None:
            return {"listen_addresses": self.host, "port": str(self.port)}
        return {
            "listen_addresses": "",
            "unix_socket_directories": self.host,
            "unix_socket_permissions": "0700",
            "port": str(self.port),
        }

    def url(self, database: str) -> str:
        """A libpq URL; the port is spelled out because PGPORT may be set."""
        if self.password is not None:
            login = f"{SUPERUSER}:{quote(self.password)}"
            return f"postgresql://{login}@{self.host}:{self.port}/{database}"
        return f"postgresql://{SUPERUSER}@/{database}?host={quote(self.host)}&port={self.port}"

    def close(self) -> None:
        """Remove the socket directory."""
        if self.password is None:
            shutil.rmtree(self.host, ignore_errors=True)


def auth_arguments(data_dir: Path) -> list[str]:
    """How initdb is to let people in."""
    if sys.platform == "win32":
        return ["--auth=scram-sha-256", f"--pwfile={_password_file(data_dir)}"]
    # the 0700 socket directory is the lock on the door: whoever gets in owns the data files or is
    # root, and root, for whom "peer" would need a mapping, must get in
    return ["--auth-local=trust", "--auth-host=reject"]


def open_endpoint(data_dir: Path, account: Account | None) -> Endpoint:
    """A fresh address that the account, or the present user, can listen at."""
    if sys.platform == "win32":
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        return Endpoint("127.0.0.1", port, _password_file(data_dir).read_text().strip())
    directory = tempfile.mkdtemp(prefix=SOCKET_PREFIX, dir=SOCKET_PARENT)
    if account:
        os.chown(directory, account.uid, account.gid, follow_symlinks=False)
    return Endpoint(directory, 5432)


def is_ours(host: str) -> bool:
    """Whether an address looks like one that ``open_endpoint`` gave out."""
    return Path(host).parent == SOCKET_PARENT and Path(host).name.startswith(SOCKET_PREFIX)


def clear_left_behind(host: str) -> None:
    """Remove the socket directory of a process that was killed."""
    if is_ours(host):
        shutil.rmtree(host, ignore_errors=True)


def _password_file(data_dir: Path) -> Path:
    path = data_dir / "postgres.password"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(32))
    return path
