"""``serve`` and ``demo`` as processes of their own."""

import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

from remembrancer.cli import main

COMMAND = [sys.executable, "-m", "remembrancer"]
QUIET = os.environ | {"REMEMBRANCER_LOG_LEVEL": "warning", "NO_COLOR": "1", "COLUMNS": "200"}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="looks for processes in /proc, which only Linux has"
)


def processes_in(directory: Path) -> list[int]:
    """Pids of all processes at work below a directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if entry.readlink().is_relative_to(directory):
                found.append(int(entry.parts[2]))
        except OSError:
            continue
    return found


def start(
    data_dir: Path,
    *arguments: str,
    inside: Sequence[str] = (),
    options: Sequence[str] = (),
    **environment: str,
) -> tuple[subprocess.Popen[str], str]:
    """A server, and what it said until it was ready; started by the command ``inside``."""
    command = [*inside, *COMMAND, "--data-dir", str(data_dir), *options]
    process = subprocess.Popen(
        [*command, "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=QUIET | environment,
    )
    assert process.stdout
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("curl"):
            return process, said
    pytest.fail(process.communicate()[1])


def address_in(said: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert found
    return found[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A data directory, and what its server with the sample said.

    At last SIGINT stops it, with a connection idle and a request half sent; within seconds, as its
    exit code says: after STOP_SECONDS it is 1.
    """
    data_dir = tmp_path_factory.mktemp("serve") / "data"
    process, said = start(data_dir, "--sample")
    address = address_in(said)
    idle = httpx2.Client(base_url=address, trust_env=False, timeout=60)
    assert idle.get("/healthz").status_code == 200
    yield data_dir, said
    host, port = address.removeprefix("http://").split(":")
    hanging = socket.create_connection((host, int(port)))
    hanging.sendall(b"POST /api/keys HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=60)
    idle.close()
    hanging.close()
    assert (process.returncode, rest) == (0, "")
    assert "Traceback" not in err
    assert not processes_in(data_dir)


def test_the_printed_command_works(served: tuple[Path, str]) -> None:
    """The one command that is printed, run in a shell, answers its question from the sample."""
    command = served[1].splitlines()[-1]
    assert command.startswith("curl ")
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=True, timeout=60
    )
    assert "Ada is allergic to walnuts." in done.stdout


def test_the_admin_key_is_a_private_file(served: tuple[Path, str]) -> None:
    """The key lies in a file only its owner can read, and is not printed."""
    path = served[0] / "admin.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() not in served[1]
    assert shlex.quote(str(path)) in served[1]


def test_the_sign_in_link_works_once(served: tuple[Path, str]) -> None:
    """Signed out, the home page says how to sign in; the link opens it, and only once."""
    address = address_in(served[1])
    link = re.search(r"/login\?token=\S+", served[1])
    assert link
    with httpx2.Client(
        base_url=address,
        headers={"Accept": "text/html"},
        trust_env=False,
        follow_redirects=True,
        timeout=60,
    ) as browser:
        out = browser.get("/")
        assert out.status_code == 401
        assert "remembrancer serve" in out.text
        home = browser.get(link[0])
        assert home.status_code == 200
        assert "Messages" in home.text
        assert "/openapi.json" in home.text
        policy = home.headers["content-security-policy"]
        assert "style-src 'self'" in policy
        assert "unsafe" not in policy
        assert browser.get("/static/style.css").headers["content-type"].startswith("text/css")
        assert re.findall(r"<script[^>]*>(?=.)", home.text) == re.findall(
            r'<script src="/static/[^"]+" defer>', home.text
        )
        assert "style=" not in home.text
        browser.cookies.clear()
        assert browser.get(link[0]).status_code == 401


def test_commands_work_while_the_server_runs(
    served: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A command on the same data directory shares the server's database."""
    question = ["recall", "What am I allergic to?", "--user", "Ada", "--agent", "Pantry"]
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(served[0]), *question])
    assert ended.value.code == 0
    assert "walnuts" in capsys.readouterr().out


def test_a_port_in_use_is_named(
    served: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A taken port is one line on stderr, before any database is made."""
    port = address_in(served[1]).rpartition(":")[2]
    with pytest.raises(SystemExit) as ended:
        main(["--data-dir", str(tmp_path / "new"), "serve", "--port", port])
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert said.err == (
        f"error: cannot listen at 127.0.0.1:{port}: address already in use; "
        "choose another with --port, or 0 for any free one\n"
    )
    assert not (tmp_path / "new").exists()


def test_case_56_a_server_stops_without_its_database(tmp_path: Path) -> None:
    """Its Postgres is gone: the worker cannot say goodbye, and the server ends all the same."""
    data_dir = tmp_path / "data"
    process, _ = start(data_dir)
    postgres = (data_dir / "postgres" / "postmaster.pid").read_text().split()[0]
    os.kill(int(postgres), signal.SIGKILL)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert not processes_in(data_dir)


def test_the_demo_holds_what_it_promises(tmp_path: Path) -> None:
    """Every answer of the demo is as it must be, and it leaves nothing behind."""
    done = subprocess.run(
        [*COMMAND, "demo"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=QUIET | {"TMPDIR": str(tmp_path), "REMEMBRANCER_DATABASE_URL": "postgresql://no/no"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 8 answers are correct" in done.stdout
    for told in ("nothing with “walnut”", "global scope:", "agent scope:", "shared knowledge"):
        assert told in done.stdout
    assert not list(tmp_path.glob("remembrancer-demo-*"))
    assert not processes_in(tmp_path)
