"""Facts and summaries of the benchmarks: gold ones in LoCoMo's format, extractive ones else."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from benchmarks.scripted import Scripted, extractive_facts, extractive_summary, gold_facts
from remembrancer.conversations.schemas import MessageRole
from remembrancer.extraction.transcript import Line, Transcript

SAID = ["Hello Bo! How are you?", "I adopted a greyhound called Pixel in May. Nice.", "ok"]
LINES = [
    Line(UUID(int=n), UUID(int=9), MessageRole.USER, "Ada", text, datetime(2023, 5, 2, tzinfo=UTC))
    for n, text in enumerate(SAID)
]
TURNS = {line.message_id: f"D1:{n}" for n, line in enumerate(LINES)}
GOLD = {
    "observation": {
        "session_1_observation": {
            "Ada": [["Ada has a greyhound.", "D1:1"], ["Ada greets Bo.", ["D1:0", "D1:1"]]],
            "Bo": [],
        }
    },
    "session_summary": {"session_1_summary": "Ada told Bo of her dog."},
}


def script(sample: dict[str, Any]) -> Scripted:
    """The script for a sample; it stores nothing here."""
    return Scripted(None, sample, TURNS)  # type: ignore[arg-type]


def test_extractive_facts_are_sentences_with_speaker_and_date() -> None:
    """Questions and short sentences are none."""
    facts = [fact for line in LINES for fact in extractive_facts(line, TURNS[line.message_id])]
    assert facts == [("Ada, 2 May 2023: I adopted a greyhound called Pixel in May.", "D1:1")]
    assert extractive_summary(LINES) == "Ada: I adopted a greyhound called Pixel in May."
    assert not script({}).is_gold


def test_gold_facts_and_summaries_are_read() -> None:
    """Observations by turn, the first one of several; the summary of a range's sessions."""
    assert {turn: [fact.content for fact in facts] for turn, facts in gold_facts(GOLD).items()} == {
        "D1:1": ["Ada has a greyhound."],
        "D1:0": ["Ada greets Bo."],
    }
    gold = script(GOLD)
    assert gold.is_gold
    transcript = Transcript(UUID(int=1), 1, 3, LINES)
    assert gold._summary(transcript) == "Ada told Bo of her dog."
    assert [(m.content, turn) for _, m, turn in gold._facts(transcript)] == [
        ("Ada greets Bo.", "D1:0"),
        ("Ada has a greyhound.", "D1:1"),
    ]
