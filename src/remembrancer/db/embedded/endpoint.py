"""The address of the server: a private unix socket, or loopback TCP on Windows."""

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

# not $TMPDIR, which may exceed the 107 bytes of a socket path, and not $XDG_RUNTIME_DIR, which is
# removed at log-out and closed to the server's account
SOCKET_PARENT = Path("/tmp")  # noqa: S108 - nobody else can enter the directory of mkdtemp
SOCKET_PREFIX = "remembrancer-"
SUPERUSER = "postgres"


@dataclass(frozen=True)
class Endpoint:
    host: str
    """The socket directory, or the address on Windows."""
    port: int
    password: str | None = None

    def options(self) -> dict[str, str]:
        if self.password is not None:
            return {"listen_addresses": self.host, "port": str(self.port)}
        return {
            "listen_addresses": "",
            "unix_socket_directories": self.host,
            "unix_socket_permissions": "0700",
            "port": str(self.port),
        }

    def url(self, database: str) -> str:
        if self.password is not None:
            login = f"{SUPERUSER}:{quote(self.password)}"
            return f"postgresql://{login}@{self.host}:{self.port}/{database}"
        return f"postgresql://{SUPERUSER}@/{database}?host={quote(self.host)}&port={self.port}"

    def close(self) -> None:
        if self.password is None:
            shutil.rmtree(self.host, ignore_errors=True)


def auth_arguments(data_dir: Path) -> list[str]:
    if sys.platform == "win32":
        return ["--auth=scram-sha-256", f"--pwfile={_password_file(data_dir)}"]
    # the 0700 socket directory protects the server: only the owner of the data files and root can
    # enter, and "peer" would need a mapping for root
    return ["--auth-local=trust", "--auth-host=reject"]


def open_endpoint(data_dir: Path, account: Account | None) -> Endpoint:
    if sys.platform == "win32":
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        return Endpoint("127.0.0.1", port, _password_file(data_dir).read_text().strip())
    directory = tempfile.mkdtemp(prefix=SOCKET_PREFIX, dir=SOCKET_PARENT)
    if account:
        os.chown(directory, account.uid, account.gid, follow_symlinks=False)
    return Endpoint(directory, 5432)


def is_ours(host: str) -> bool:
    """Return whether an address looks like one from ``open_endpoint``."""
    return Path(host).parent == SOCKET_PARENT and Path(host).name.startswith(SOCKET_PREFIX)


def clear_left_behind(host: str) -> None:
    if is_ours(host):
        shutil.rmtree(host, ignore_errors=True)


def _password_file(data_dir: Path) -> Path:
    path = data_dir / "postgres.password"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(32))
    return path
