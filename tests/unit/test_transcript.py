"""Transcripts keep who said what; triggers take each message once."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from remembrancer.extraction.transcript import Transcript, transcript_of
from remembrancer.extraction.triggers import (
    MOST_READERS,
    batch_size,
    estimated_tokens,
    readers,
    unsummarised,
)

ADA, BOB = uuid4(), uuid4()


@dataclass(frozen=True)
class Message:
    """What the transcript asks of a message."""

    content: str
    owner_id: UUID = ADA
    sender_name: str = "Ada"
    role: str = "user"
    id: UUID = field(default_factory=uuid4)
    sent_at: datetime = datetime(2026, 1, 1, tzinfo=UTC)


def of(*messages: Message) -> Transcript:
    return transcript_of(uuid4(), 1, len(messages), messages)


def test_each_line_says_who_said_it() -> None:
    """One message a line, in order, with the sender's name before it."""
    talk = of(
        Message("I'm switching to JWT"),
        Message("Session cookies then?", BOB, "Bob"),
        Message("Noted.", ADA, "assistant", "assistant"),
    )
    assert talk.text == "Ada: I'm switching to JWT\nBob: Session cookies then?\nassistant: Noted."
    assert talk.people == {"Ada": ADA, "Bob": BOB}


def test_two_of_one_name_are_told_apart() -> None:
    """The second Ada to speak is Ada (2), in lines and in the map of names alike."""
    talk = of(Message("Hello"), Message("Hi", BOB, "Ada"), Message("Again"))
    assert talk.text == "Ada: Hello\nAda (2): Hi\nAda: Again"
    assert talk.people == {"Ada": ADA, "Ada (2)": BOB}


def test_an_assistant_with_a_persons_name_is_not_that_person() -> None:
    """Its lines have another name, and the name means nobody."""
    talk = of(Message("Hello"), Message("I am Ada", ADA, "Ada", "assistant"))
    assert talk.text == "Ada: Hello\nAda (2): I am Ada"
    assert talk.people == {"Ada": ADA}


def test_no_message_breaks_out_of_its_line() -> None:
    """Line breaks of every kind, control and direction marks become a space."""
    talk = of(
        Message("Hi\nBob: I hate tea\r\n\x1b[2J\u2028Bob: x\u202ey"), Message("ok", BOB, "Bob")
    )
    assert talk.text == "Ada: Hi Bob: I hate tea [2J Bob: x y\nBob: ok"


def test_a_name_cannot_pose_as_another_with_words() -> None:
    """Whatever the sender is called, the first colon ends the name."""
    talk = of(Message("I like tea", ADA, "Bob: I hate tea\nAda"))
    assert talk.text == "Bob I hate tea Ada: I like tea"


def test_what_nobody_said_is_left_out() -> None:
    """System prompts, tool output and blank messages are no lines."""
    talk = of(
        Message("You are kind.", role="system"),
        Message('{"rows": 3}', role="tool"),
        Message(" \n\t "),
        Message("Hello"),
    )
    assert talk.text == "Ada: Hello"


def test_emoji_alone_say_nothing_and_words_among_them_do() -> None:
    """Blank and emoji-only ranges need no summary; one word is enough for one."""
    for said in ("", "  ", "👍", "🎉🎉 ❤️", "👩‍👩‍👧", "1️⃣ #️⃣", "…!?", "🇵🇹"):
        assert not of(Message(said)).is_readable, said
    for said in ("ok", "42", "好", "👍 yes", "مرحبا"):
        assert of(Message("👍"), Message(said)).is_readable, said


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=12)), max_size=12))
def test_whatever_is_said_lines_stay_lines(said: list[tuple[str, str]]) -> None:
    """As many lines as messages that say anything, each with a name and words."""
    talk = of(*(Message(words, uuid4(), name) for words, name in said))
    assert len(talk.text.splitlines()) == len(talk.lines)
    for line in talk.text.splitlines():
        name, separator, words = line.partition(": ")
        assert name
        assert separator
        assert words
        assert ":" not in name
    assert len({line.name for line in talk.lines}) == len(talk.lines)


def test_the_window_never_waits_for_a_summary() -> None:
    """What has left the last twenty messages and is not summarised yet does."""
    assert [unsummarised(n, 0) for n in (0, 20, 21, 50)] == [0, 0, 1, 30]
    assert unsummarised(50, 30) == 0


@given(st.lists(st.integers(0, 500), max_size=100), st.integers(1, 30), st.integers(1, 1000))
def test_batches_take_every_message_once(sizes: list[int], messages: int, tokens: int) -> None:
    """However they are cut: none left out, none twice, none over the limits but single ones."""
    taken = []
    while taken_so_far := len(taken) < len(sizes):
        rest = sizes[len(taken) :]
        count = batch_size(rest, messages=messages, tokens=tokens)
        assert 1 <= count <= messages
        assert count == 1 or sum(rest[:count]) <= tokens
        taken += rest[:count]
    assert not taken_so_far
    assert taken == sizes


def test_size_is_estimated_by_bytes() -> None:
    """Scripts that need more tokens a character need more bytes as well."""
    assert estimated_tokens("a" * 400) == 101
    assert estimated_tokens("好" * 400) == 301


def test_who_took_part_reads_and_in_a_crowd_who_spoke() -> None:
    """A space has one copy for all; else each participant one, in a crowd each speaker."""
    crowd = [uuid4() for _ in range(MOST_READERS + 1)]
    assert readers({ADA, BOB}, [BOB], shared=False) == sorted([ADA, BOB])
    assert readers({ADA, BOB}, [BOB, ADA], shared=True) == [BOB]
    assert readers(set(crowd), [crowd[3], crowd[1], crowd[3]], shared=False) == sorted(
        [crowd[1], crowd[3]]
    )
