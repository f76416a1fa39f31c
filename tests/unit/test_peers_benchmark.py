"""The comparison with peers: its own lines on a small conversation, and what it leaves out."""

from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.locomo import turns_of
from benchmarks.peers.__main__ import SYSTEMS, line, refuse_network, rows
from benchmarks.peers.base import Bench, CachedVectors, System, Talk
from remembrancer.embeddings import create_embedder
from remembrancer.settings import EmbeddingSettings

SAMPLE = {
    "sample_id": "two-friends",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bo",
        "session_1_date_time": "1:00 pm on 2 May, 2023",
        "session_1": [
            {"dia_id": "D1:1", "speaker": "Ada", "text": "I adopted a greyhound called Pixel."},
            {"dia_id": "D1:2", "speaker": "Bo", "text": "My sister plays the trombone."},
            {"dia_id": "D1:3", "speaker": "Ada", "text": " "},
        ],
        "session_2_date_time": "9:12 am on 1 June, 2023",
        "session_2": [
            {"dia_id": "D2:1", "speaker": "Bo", "text": "The rent of my flat in Lisbon went up."},
        ],
    },
    "qa": [
        {"question": "Which greyhound did Ada adopt?", "evidence": ["D1:1"], "category": 4},
        {"question": "What does Bo's sister play?", "evidence": ["D1:2"], "category": 4},
        {"question": "Where is Bo's flat?", "evidence": ["D2:1"], "category": 1},
        {"question": "What is in the photo?", "evidence": ["D1:3"], "category": 1},
        {"question": "What does Ada drive?", "evidence": [], "category": 5},
    ],
}
TALK = Talk("two-friends", turns_of(SAMPLE), SAMPLE)
REFERENCES = [system for system in SYSTEMS if system.module.startswith("references")]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    model = create_embedder(EmbeddingSettings(threads=1))
    yield Bench(CachedVectors(model), tmp_path, server="")
    await model.close()


@pytest.mark.parametrize("system", REFERENCES, ids=lambda system: system.name)
async def test_a_reference_finds_the_turns(bench: Bench, system: System) -> None:
    """Each question with stored evidence counts once, and a few lines answer these."""
    measured = await line(system, bench, [TALK])
    columns, [row] = rows({system.name: measured})
    assert columns == ["system", "@1", "@5", "@10", "multi-hop", "single-hop", *columns[-2:]]
    assert row[:6] == [system.name, 1.0, 1.0, 1.0, 1.0, 1.0]
    assert bench.vectors.seconds > 0


async def test_what_is_not_installed_is_said(bench: Bench) -> None:
    """The row names the package, and the rest of the table stands."""
    absent = System("nobody", "nobody", "no-such-distribution")
    lines = {system.name: await line(system, bench, [TALK]) for system in [absent, *REFERENCES]}
    _, [row, *others] = rows(lines)
    assert row == ["nobody: not installed (pip install no-such-distribution)"]
    assert [other[1] for other in others] == [1.0, 1.0]


def test_every_system_has_its_module() -> None:
    """A peer is only imported once it is installed, so nothing else notices a wrong name."""
    modules = [system.module.partition(":")[0] for system in SYSTEMS]
    assert all(find_spec(f"benchmarks.peers.{module}") for module in modules)


def test_nothing_leaves_the_machine() -> None:
    """A peer that looks up a host gets an error; the database's is found."""
    refuse_network("socket.getaddrinfo", ("127.0.0.1", 5432))
    with pytest.raises(OSError, match="no network"):
        refuse_network("socket.getaddrinfo", ("telemetry.example.org", 443))
