"""Takes the pictures of the pages, for `web.md`: `make screenshots`.

A server with the person of `screenshots.toml`, on throw-away data, is looked at in Chromium.
"""

import asyncio
import base64
import os
import shutil
import socket
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
import uvicorn
from playwright.async_api import Browser, async_playwright

from remembrancer import (
    AgentCreate,
    ConversationCreate,
    MemoryCreate,
    MemoryUpdate,
    MessageCreate,
    RecallQuery,
    Remembrancer,
    ResolveUser,
    Settings,
    SpaceCreate,
    User,
    as_actor,
)
from remembrancer.access import Actor, Role, Visibility
from remembrancer.api import create_app
from remembrancer.keys.schemas import KeyCreate
from remembrancer.memories.schemas import AssociationCreate
from remembrancer.settings import ServerSettings
from remembrancer.usage.counts import NO_AGENT

PICTURES: Final = Path(__file__).parent / "pictures"
MOST_BYTES: Final = 120_000
SIZE: Final = {"width": 1280, "height": 800}
_CHROMIUM: Final = ("chromium", "chromium-browser", "google-chrome")
_FONTS: Final = """<fontconfig><include>/etc/fonts/fonts.conf</include>
<match><test name="family"><string>DejaVu Sans</string></test>
<edit name="family" mode="assign"><string>Liberation Sans</string></edit></match>
</fontconfig>"""
"""Letters as wide as those of most systems."""


class Story:
    """The person, and what happened when."""

    def __init__(self, memory: Remembrancer, sample: Mapping[str, Any]) -> None:
        self._memory = memory
        self._sample = sample
        self._now = datetime.now(UTC)
        self._said: dict[tuple[str, int], tuple[UUID, UUID, datetime]] = {}
        self._dates: list[tuple[datetime, str, int]] = []
        self.ids: dict[str, str] = {}

    async def tell(self) -> User:
        """Store everything, through those who heard it."""
        staff, sample = as_actor(), self._sample
        self._user = await self._memory.users.resolve(staff, ResolveUser(**sample["person"]))
        self._person = Actor(Role.USER, user_id=self._user.id)
        self._agents = {
            name: await self._memory.agents.create(staff, AgentCreate(name=name, **fields))
            for name, fields in sample["agents"].items()
        }
        others = [
            await self._memory.users.resolve(staff, ResolveUser(**person))
            for person in sample["others"]
        ]
        members = [other.id for other in others]
        self._spaces = {
            name: await self._memory.spaces.create(
                staff.acting_for(self._user.id),
                SpaceCreate(name=name, description=about, member_ids=members),
            )
            for name, about in sample["spaces"].items()
        }
        for key, talk in sample["talks"].items():
            await self._converse(key, talk)
        for key, entry in sample["memories"].items():
            await self._learn(key, **entry)
        for name, agent in self._agents.items():
            for talk in (one for one in sample["talks"].values() if one["agent"] == name):
                query = RecallQuery(query=talk["lines"][0])
                await self._memory.memories.recall(as_actor(self._user, agent), query)
        return self._user

    async def _converse(self, key: str, talk: Mapping[str, Any]) -> None:
        agent = self._agents[talk["agent"]]
        actor = as_actor(self._user, agent)
        opened = await self._memory.conversations.open(
            actor, ConversationCreate(agent_id=agent.id, title=talk["title"], platform="discord")
        )
        start = self._now - timedelta(days=talk["day"], minutes=90)
        messages = [
            MessageCreate(
                content=line,
                role="assistant" if number % 2 else "user",
                sent_at=start + timedelta(minutes=number),
            )
            for number, line in enumerate(talk["lines"])
        ]
        stored = await self._memory.conversations.append(actor, opened.id, messages)
        for number, (message, given) in enumerate(zip(stored.messages, messages, strict=True), 1):
            self._said[key, number] = opened.id, message.id, given.sent_at or self._now

    async def _learn(
        self,
        key: str,
        said: tuple[str, int],
        text: str,
        *,
        to: Mapping[str, str] = {},
        then: Sequence[tuple[str, int, str]] = (),
        again: Sequence[tuple[str, int]] = (),
        space: str | None = None,
        expires: int | None = None,
        gone: int | None = None,
        **fields: Any,
    ) -> None:
        if space:
            fields |= {"space_id": self._spaces[space].id, "visibility": Visibility.SHARED}
        made = await self._memory.memories.remember(
            self._actor(said[0]),
            MemoryCreate(
                content=text,
                expires_at=self._now + timedelta(days=expires) if expires else None,
                allow_similar=True,
                **self._source(*said),
                **fields,
            ),
        )
        self.ids[key] = made.memory.id
        for other, relation in to.items():
            await self._memory.associations.add(
                self._person,
                made.memory.id,
                AssociationCreate(target_id=self.ids[other], relation=relation, weight=0.8),
            )
        self._dates.append((self._said[*said][2], made.memory.id, 1))
        for version, (talk, line, words) in enumerate(then, 2):
            update = MemoryUpdate(content=words, **self._source(talk, line))
            await self._memory.memories.update(self._actor(talk), made.memory.id, update)
            self._dates.append((self._said[talk, line][2], made.memory.id, version))
            text = words
        for talk, line in again:
            repeated = MemoryCreate(content=text, **self._source(talk, line))
            await self._memory.memories.remember(self._actor(talk), repeated)
        if gone:
            await self._memory.memories.forget(self._person, made.memory.id)

    def _actor(self, talk: str) -> Actor:
        return as_actor(self._user, self._agents[self._sample["talks"][talk]["agent"]])

    def _source(self, talk: str, line: int) -> dict[str, UUID]:
        conversation, message, _ = self._said[talk, line]
        return {"conversation_id": conversation, "message_id": message}

    def set_dates(self, url: str) -> None:
        """Let everything have happened on its day."""
        gone = [
            (self._now - timedelta(days=entry["gone"]), self.ids[key])
            for key, entry in self._sample["memories"].items()
            if "gone" in entry
        ]
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            cursor = connection.cursor()
            cursor.execute("SET row_security = off")
            cursor.executemany(
                "UPDATE memory_versions SET recorded_at = %s WHERE memory_id = %s AND version = %s",
                self._dates,
            )
            cursor.execute(
                "UPDATE memory_versions AS v SET superseded_at = later.recorded_at"
                " FROM memory_versions AS later WHERE later.owner_id = v.owner_id"
                " AND later.memory_id = v.memory_id AND later.version = v.version + 1"
            )
            cursor.execute(
                "UPDATE memories AS m SET created_at = v.recorded_at FROM memory_versions AS v"
                " WHERE v.owner_id = m.owner_id AND v.memory_id = m.id AND v.version = 1"
            )
            cursor.execute(
                "UPDATE mentions AS n SET mentioned_at = s.sent_at FROM messages AS s"
                " WHERE s.id = n.message_id"
            )
            cursor.executemany("UPDATE memories SET forgotten_at = %s WHERE id = %s", gone)
            cursor.execute("DELETE FROM daily_usage")
            cursor.executemany(
                "INSERT INTO daily_usage (day, agent_id, kind, amount, durations)"
                " VALUES (%s, %s, %s, %s, %s)",
                self._usage(),
            )

    def _usage(self) -> Iterator[tuple[date, UUID, str, int, list[int]]]:
        for back in range(14):
            day = (self._now - timedelta(days=back)).date()
            for number, agent in enumerate(self._agents.values()):
                amount = 9 + (11 * back + 7 * number) % 23 - 4 * (day.weekday() > 4)
                for kind, count in (("recall", amount), ("write", amount // 3)):
                    slow = count * (1 + 5 * back % 4) // 12
                    yield day, agent.id, kind, count, [0, count // 3, count // 2, slow] + 8 * [0]
                yield day, agent.id, "tokens", 640 * amount, []
            yield day, NO_AGENT, "disk", 31_000_000 - 180_000 * back, []


async def take(memory: Remembrancer, paths: Mapping[str, tuple[User | None, str]]) -> None:
    """Take each page in both themes, from a server of the store."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(memory), log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with ExitStack() as stack:
        fonts = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "fonts.conf"
        fonts.write_text(_FONTS)
        playwright = await async_playwright().start()
        browser = await playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, _CHROMIUM)), None),
            env={**os.environ, "FONTCONFIG_FILE": str(fonts)},
        )
        for name, (user, path) in paths.items():
            role = Role.USER if user else Role.ADMIN
            key = KeyCreate(name="Pictures", role=role, user_id=user.id if user else None)
            secret = (await memory.keys.create(Actor(Role.ADMIN), key)).secret
            for theme in ("light", "dark"):
                picture = await _picture(browser, address, secret, path, theme)
                (PICTURES / f"{name}-{theme}.webp").write_bytes(picture)
                print(f"{name}-{theme}.webp: {len(picture) / 1000:.0f} kB")  # noqa: T201
        await browser.close()
        await playwright.stop()
    server.should_exit = True
    await serving


async def _picture(browser: Browser, address: str, secret: str, path: str, theme: Any) -> bytes:
    context = await browser.new_context(
        base_url=address, color_scheme=theme, viewport=SIZE, reduced_motion="reduce"
    )
    page = await context.new_page()
    await page.goto("/signin")
    await page.get_by_label("API key").fill(secret)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Sign out").wait_for()
    answer = await page.goto(path, wait_until="networkidle")
    assert answer, path
    assert answer.ok, (path, answer.status)
    devtools = await context.new_cdp_session(page)
    picture = b""
    for quality in (90, 75, 60):
        taken = await devtools.send(
            "Page.captureScreenshot", {"format": "webp", "quality": quality}
        )
        picture = base64.b64decode(taken["data"])
        if len(picture) < MOST_BYTES:
            break
    await context.close()
    return picture


async def main() -> None:
    """Fill a store, date what is in it, and take the pictures."""
    sample = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        async with Remembrancer.open(directory) as memory:
            story = Story(memory, sample)
            user = await story.tell()
        base, past = f"/people/{user.id}", datetime.now(UTC) - timedelta(days=sample["past"])
        settings = Settings(server=ServerSettings(public_url="https://memory.example.com"))
        async with Remembrancer.open(directory, settings=settings) as memory:
            story.set_dates(memory.database.url)
            paths = {
                "home": (user, f"{base}?q={sample['question']}"),
                "memories": (user, f"{base}/memories"),
                "memory": (user, f"{base}/memories/{story.ids[sample['story']]}"),
                "graph": (user, f"{base}/graph"),
                "timeline": (user, f"{base}/timeline?as_of={past:%Y-%m-%d}"),
                "agents": (user, f"{base}/agents"),
                "start": (user, f"{base}/start/connect"),
                "overview": (None, "/admin"),
            }
            await take(memory, paths)


if __name__ == "__main__":
    asyncio.run(main())
