"""Users for Locust: those of a busy day, and far more at once than a server can answer.

`benchmarks.load` fills a store, starts Locust with this file, and reads its figures.
"""

import itertools
import json
import os
import random
from pathlib import Path
from typing import Any

from gevent.event import Event
from locust import FastHttpUser, between, events, task

from benchmarks.words import Chat

STORE = json.loads(Path(os.environ["LOAD_STORE"]).read_text())
PAUSE = float(os.environ["LOAD_PAUSE"])
PEOPLE = itertools.cycle(STORE["people"])
NUMBERS = itertools.count(1)
CHAT = Chat(random.randrange(10**9))
QUESTIONS = Chat(3).lines(64)
REFUSALS = (429, 503)
ALL_HERE = Event()


@events.spawning_complete.add_listener
def release(**_: Any) -> None:
    ALL_HERE.set()


@events.test_stopping.add_listener
def note(**_: Any) -> None:
    """Say that nothing more is sent: what is in work is still answered."""
    Path(os.environ["LOAD_STOPPED"]).touch()


class Caller(FastHttpUser):
    abstract = True
    host = STORE["url"]
    network_timeout = connection_timeout = 120.0

    def send(self, name: str, method: str, path: str, body: dict[str, Any]) -> None:
        """Send a request. A refusal that says when to come back is counted by itself."""
        headers = {"Authorization": f"Bearer {STORE['key']}"}
        with self.client.request(
            method, path, json=body, headers=headers, name=name, catch_response=True
        ) as answer:
            if answer.status_code in REFUSALS and answer.headers.get("Retry-After", "").isdigit():
                answer.request_meta["name"] = f"{name}: {answer.status_code}"
                answer.success()


class Talker(Caller):
    """Seven in ten requests are contexts, two messages, one an edit of a memory."""

    wait_time = between(PAUSE / 2, PAUSE * 1.5)

    def on_start(self) -> None:
        self.person = next(PEOPLE)
        self.ids = {"user_id": self.person["user"]}

    @task(7)
    def ask(self) -> None:
        asked = {"conversation_id": self.person["talk"], "message": random.choice(QUESTIONS)}
        self.send("context", "POST", "/api/memory/context", self.ids | asked)

    @task(2)
    def tell(self) -> None:
        path = f"/api/conversations/{self.person['talk']}/messages"
        self.send("message", "POST", path, self.ids | {"messages": [{"content": CHAT.line()}]})

    @task(1)
    def change(self) -> None:
        path = f"/api/memory/{random.choice(self.person['memories'])}"
        self.send("edit", "PUT", path, self.ids | {"content": CHAT.line()})


class Crowd(Caller):
    """Strangers who all write to one group in the same moment, and then ask without a pause."""

    def on_start(self) -> None:
        ALL_HERE.wait()
        sender = f"stranger {next(NUMBERS)}"
        message = {"content": CHAT.line(), "platform_user_id": sender}
        path = f"/api/conversations/{STORE['group']}/messages"
        self.send("first message", "POST", path, {"messages": [message]})
        self.person = random.choice(STORE["people"])

    @task
    def ask(self) -> None:
        asked = {"user_id": self.person["user"], "message": random.choice(QUESTIONS)}
        self.send("context", "POST", "/api/memory/context", asked)
