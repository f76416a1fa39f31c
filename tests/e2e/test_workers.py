"""``serve --workers``: several processes on one socket, with one database."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from test_cli_serve import address_in, processes_in, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@dataclass
class Serving:
    """A server with two workers, and its admin's key."""

    process: subprocess.Popen[str]
    address: str
    link: str
    key: str

    @property
    def workers(self) -> list[psutil.Process]:
        """The first process, and the one beside it."""
        first = psutil.Process(self.process.pid)
        return [first, *(child for child in first.children() if _is_worker(child))]

    @contextmanager
    def only(self, worker: psutil.Process) -> Iterator[httpx2.Client]:
        """A client whose connection another process cannot have accepted: it is stopped."""
        stopped = [process for process in self.workers if process.pid != worker.pid]
        headers = {"Authorization": f"Bearer {self.key}"}
        for seconds in (2, 4, 8, 16, 32, 64):
            with (
                _suspended(stopped),
                httpx2.Client(
                    base_url=self.address, headers=headers, trust_env=False, timeout=seconds
                ) as client,
            ):
                if _answers(client):
                    client.timeout = httpx2.Timeout(60)
                    yield client
                    return
        pytest.fail("the worker does not answer")


def _answers(client: httpx2.Client) -> bool:
    """Whether a worker answers. A new one may wait for the first, to hear what it has to do."""
    with suppress(httpx2.TimeoutException):
        return client.get("/healthz").status_code == 200
    return False


@contextmanager
def _suspended(processes: list[psutil.Process]) -> Iterator[None]:
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def _lives(pid: int) -> bool:
    """Whether a process has not ended: nobody may ask for the end of one without a parent."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def _is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.Error):  # it may have ended since
        return "spawn_main" in " ".join(process.cmdline())
    return False


def eventually(check: Callable[[], Any]) -> Any:
    for _ in range(2400):
        if found := check():
            return found
        time.sleep(0.05)
    pytest.fail("it did not happen within two minutes")


def served(data_dir: Path, **environment: str) -> Serving:
    process, said = start(data_dir, "--workers", "2", **environment)
    link = next(word for word in said.split() if "/login?token=" in word)
    serving = Serving(process, address_in(said), link, (data_dir / "admin.key").read_text().strip())
    eventually(lambda: len(serving.workers) == 2)
    # It answers when it has imported what it needs.
    with serving.only(serving.workers[1]):
        pass
    return serving


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Two workers, for at most 20 requests a minute of a key. SIGINT stops both."""
    data_dir = tmp_path_factory.mktemp("workers") / "data"
    serving = served(data_dir, REMEMBRANCER_LIMITS__REQUESTS_PER_MINUTE="2000")
    yield serving
    pids = [worker.pid for worker in serving.workers]
    # As Ctrl-C does, which reaches all processes of a terminal.
    for pid in pids:
        os.kill(pid, signal.SIGINT)
    out, err = serving.process.communicate(timeout=60)
    assert (serving.process.returncode, err) == (0, ""), out
    assert not [pid for pid in pids if psutil.pid_exists(pid)]
    assert processes_in(data_dir) == []


def test_a_worker_recalls_what_another_stored(two: Serving) -> None:
    """Just written through one, just found through the other."""
    first, second = two.workers
    with two.only(first) as client:
        ada = client.post(
            "/api/users/resolve",
            json={"platform": "app", "platform_user_id": "ada", "display_name": "Ada"},
        ).json()
        body = {"user_id": ada["id"], "content": "Ada plays the theremin."}
        assert client.post("/api/memory/", json=body).status_code == 201
    with two.only(second) as client:
        body = {"user_id": ada["id"], "query": "Which instrument does Ada play?"}
        found = client.post("/api/memory/recall", json=body).json()
        assert found["hits"][0]["content"] == "Ada plays the theremin."


def test_a_revoked_key_is_refused_by_all(two: Serving) -> None:
    """Both know the key; the next request of either is refused."""
    first, second = two.workers
    with two.only(first) as client:
        key = client.post("/api/keys", json={"name": "agent", "role": "service"}).json()
    bearer = {"Authorization": f"Bearer {key['secret']}"}

    def recalls(worker: psutil.Process) -> int:
        with two.only(worker) as client:
            answer = client.post("/api/memory/recall", json={"query": "tea"}, headers=bearer)
            return answer.status_code

    assert [recalls(first), recalls(second)] == [200, 200]
    with two.only(second) as client:
        assert client.delete(f"/api/keys/{key['id']}").status_code == 200
    assert [recalls(first), recalls(second)] == [401, 401]


def test_a_browser_is_signed_in_at_all(two: Serving) -> None:
    """The link works once, whichever has it; the session and its notices are one."""
    first, second = two.workers
    with two.only(second) as client:
        signed_in = client.get(two.link, follow_redirects=False)
        assert signed_in.status_code == 303
        cookies = dict(signed_in.cookies)
    page = {"Accept": "text/html"}
    with two.only(first) as client:
        client.cookies.update(cookies)
        assert client.get("/admin", headers=page).status_code == 200
        assert client.get(two.link, follow_redirects=False, headers=page).status_code == 401


def test_metrics_count_the_requests_of_all(two: Serving) -> None:
    """Whichever answers, the numbers are those of the server."""
    counted = 0.0
    for worker in two.workers:
        with two.only(worker) as client:
            text = client.get("/metrics").text
        [line] = [
            line
            for line in text.splitlines()
            if line.startswith("remembrancer_request_seconds_count") and 'route="/healthz"' in line
        ]
        now = float(line.rsplit(" ", 1)[1])
        assert now > counted
        counted = now


def test_a_worker_that_dies_is_replaced(two: Serving) -> None:
    """The socket stays open: requests meanwhile are answered by the other."""
    first, second = two.workers
    second.kill()
    with httpx2.Client(base_url=two.address, trust_env=False, timeout=60) as client:
        assert client.get("/healthz").status_code == 200
    fresh = eventually(lambda: [w for w in two.workers if w.pid not in {first.pid, second.pid}])[0]
    with two.only(fresh) as client:
        assert client.post("/api/memory/recall", json={"query": "tea"}).status_code == 200
    assert "a worker ended" in _line(two)


def _line(two: Serving) -> str:
    assert two.process.stderr
    return two.process.stderr.readline()


def test_limits_count_all_requests_of_a_key(tmp_path: Path) -> None:
    """A key has its requests a minute, however many processes answer. A killed server leaves
    nobody behind."""
    serving = served(tmp_path / "data", REMEMBRANCER_LIMITS__REQUESTS_PER_MINUTE="5")
    minute, statuses = -1, [0]
    while minute != time.time() // 60:  # again, if a minute ended in between
        minute, statuses = time.time() // 60, []
        for worker in serving.workers:
            with serving.only(worker) as client:
                statuses += [
                    client.post("/api/memory/recall", json={"query": "tea"}).status_code
                    for _ in range(5)
                ]
    assert statuses.count(200) <= 5  # what came before may have counted too
    assert 429 in statuses
    pids = [worker.pid for worker in serving.workers]
    serving.process.kill()
    serving.process.communicate()
    eventually(lambda: not any(map(_lives, pids)))
    eventually(lambda: not processes_in(tmp_path / "data"))
