"""Work that is done again and again comes to an end when it is told to."""

import asyncio

from remembrancer.periodic import Periodic


async def test_what_is_under_way_is_finished_and_nothing_else_begins() -> None:
    """Stopping waits for the call that runs, and cancels nothing of it."""
    began, done = asyncio.Event(), []

    async def work() -> None:
        began.set()
        await asyncio.sleep(0.05)
        done.append(1)

    periodic = Periodic(work, every=0.0, what="work")
    periodic.start()
    await began.wait()
    await periodic.stop()
    finished = len(done)
    assert finished >= 1
    await asyncio.sleep(0.1)
    assert len(done) == finished
    await periodic.close()
    assert len(done) == finished + 1


async def test_a_call_that_fails_does_not_keep_it_from_stopping() -> None:
    """Whatever goes wrong costs one call; the next comes, and the end too."""
    calls, third = 0, asyncio.Event()

    async def work() -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise RuntimeError
        third.set()

    periodic = Periodic(work, every=0.001, what="work")
    periodic.start()
    async with asyncio.timeout(30):
        await third.wait()
        await periodic.close()
