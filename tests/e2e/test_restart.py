"""A killed process loses nothing that it acknowledged."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

import pytest

from remembrancer import Actor, Message, Remembrancer, Settings, as_actor
from remembrancer.integrity import check

WRITER = """
import asyncio, sys
from remembrancer import ConversationCreate, MemoryCreate, MessageCreate, Remembrancer
from remembrancer import ResolveUser, as_actor

async def main():
    async with Remembrancer.open(sys.argv[1]) as memory:
        who = ResolveUser(platform="x", platform_user_id="1", display_name="Ada")
        user = await memory.users.resolve(as_actor(), who)
        actor = as_actor(user)
        opened = await memory.conversations.open(actor, ConversationCreate())
        print("ready", user.id, opened.id, flush=True)

        async def write(writer):
            for n in range(125):
                text = f"item {writer} number {n}"
                made = await memory.memories.remember(actor, MemoryCreate(content=text))
                print("memory", made.memory.id, text, flush=True)
                added = await memory.conversations.append(
                    actor, opened.id, [MessageCreate(content=f"said {text}")]
                )
                print("message", added.messages[0].id, added.messages[0].position, flush=True)

        await asyncio.gather(*(write(writer) for writer in range(4)))

asyncio.run(main())
"""


@pytest.mark.parametrize("count", [200, pytest.param(500, marks=pytest.mark.soak)])
async def test_every_acknowledged_write_survives_kill_9(tmp_path: Path, count: int) -> None:
    """Killed amid a thousand writes: all that was acknowledged is there and recallable."""
    acknowledged = _write_until_killed(tmp_path / "store", count)
    _, user_id, conversation = acknowledged[0]
    memories = {line[1]: line[2] for line in acknowledged if line[0] == "memory"}
    messages = {line[1]: int(line[2]) for line in acknowledged if line[0] == "message"}
    assert len(memories) > 0.4 * count
    assert len(messages) > 0.4 * count
    async with Remembrancer.open(tmp_path / "store", settings=Settings()) as memory:
        actor = as_actor(UUID(user_id))
        for memory_id, text in memories.items():
            assert (await memory.memories.get(actor, memory_id)).content == text
        window = await _everything(memory, actor, UUID(conversation))
        assert [m.position for m in window] == list(range(1, len(window) + 1))
        stored = {str(m.id): m.position for m in window}
        assert messages.items() <= stored.items()
        said = [m.content for m in window if str(m.id) in messages]
        for text in [*list(memories.values())[-5:], *said[-5:]]:
            answer = await memory.recall(text, user=UUID(user_id), limit=3)
            assert answer.hits[0].content == text
        assert await check(memory.database) == []


def _write_until_killed(data_dir: Path, count: int) -> list[list[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(data_dir)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    lines = [child.stdout.readline() for _ in range(count)]
    postgres = int((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read()  # what was acknowledged before the signal came
    child.wait(timeout=60)
    child.stdout.close()
    lines += rest.splitlines(keepends=True)
    _wait_for_end(postgres)
    return [line.rstrip().split(maxsplit=2) for line in lines if line.endswith("\n")]


def _wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 60
    while _runs(pid):
        assert time.monotonic() < deadline, "Postgres outlived the process that started it"
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def _everything(memory: Remembrancer, actor: Actor, conversation: UUID) -> list[Message]:
    """All messages of a conversation, oldest first."""
    held = (await memory.conversations.get(actor, conversation)).message_count
    found: list[Message] = []
    while len(found) < held:
        before = found[0].position if found else held + 1
        window = memory.conversations.messages(actor, conversation, last=200, before=before)
        found = [*(await window).items, *found]
    return found
