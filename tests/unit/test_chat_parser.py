"""What people type to /memory, and how answers are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.chat.parser import USAGE, Command, ParseError, parse
from remembrancer.chat.replies import Reply, Span, split_messages
from remembrancer.memories.schemas import Category
from remembrancer.sanitizer import visible_text


@pytest.mark.parametrize("name", USAGE)
def test_every_documented_command_parses(name: str) -> None:
    """Each example of the help is the command it stands beside."""
    usage, what, example = USAGE[name]
    parsed = parse(f"/memory {example}")
    assert isinstance(parsed, Command)
    assert parsed.name == name
    assert usage.startswith(name)
    assert what
    # The shortest way to write it, without what is optional, is a command or says what is missing.
    assert parse(f"/memory {name}") is not None


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("/memory", Command("list")),
        ("  /MEMORY@MyBot  List  PERSON 2 ", Command("list", category=Category.PERSON, page=2)),
        ("/memory\nsearch\tthe boss ", Command("search", text="the boss")),
        ("/memory show [id:a1B2c3D4]", Command("show", id="a1B2c3D4")),
        ("/memory add person: Alec: my boss",
         Command("add", text="Alec: my boss", category=Category.PERSON)),
        ("/memory remember note: tea", Command("add", text="note: tea")),
        ("/memory edit a1b2c3d4 new\nwords", Command("edit", id="a1b2c3d4", text="new\nwords")),
        ("/memory forget a1b2c3d4", Command("delete", id="a1b2c3d4")),
        ("/memory delete ALL ab12cd", Command("delete all", text="AB12CD")),
        ("/memory scope GLOBAL", Command("scope", text="global")),
    ],
)  # fmt: skip
def test_commands_are_read_as_people_write_them(typed: str, command: Command) -> None:
    """In any case and spacing, with the bot's name, with ids as the prompt shows them."""
    assert parse(typed) == command


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("/memory lits", "/memory list [category] [page]"),
        ("/memory serach tea", "/memory search <words>"),
        ("/memory delte x", "/memory delete <id>"),
        ("/memory pasue", "/memory pause"),
        ("/memory qqqq", "/memory help"),
        ("/memory show not-an-id", "/memory show <id>"),
        ("/memory list 0", "/memory list [category] [page]"),
        ("/memory scope all", "/memory scope [agent|global|reset]"),
        ("/memory pause now", "/memory pause"),
    ],
)
def test_what_is_no_command_gets_the_nearest(typed: str, nearest: str) -> None:
    """And a reason."""
    parsed = parse(typed)
    assert isinstance(parsed, ParseError)
    assert parsed.nearest == nearest
    assert parsed.reason


@pytest.mark.parametrize("typed", ["", "memory", "/memories", "/memoryx list", "say /memory list"])
def test_other_messages_are_none_of_its_business(typed: str) -> None:
    """They go to the agent."""
    assert parse(typed) is None


_TYPED = st.text(st.characters(), max_size=80) | st.builds(
    lambda words, rest: " ".join(["/memory", *words, rest]),
    st.lists(st.sampled_from([*USAGE, "1", "all", "person", "a1b2c3d4", ":", "²", "٣", "\x00"])),
    st.text(st.characters(), max_size=40),
)


@given(_TYPED)
def test_no_text_breaks_the_parser(typed: str) -> None:
    """Whatever is typed is a command, a hint, or somebody else's."""
    parsed = parse(typed)
    assert parsed is None or isinstance(parsed, Command | ParseError)
    if isinstance(parsed, Command):
        assert parsed.name in USAGE


@given(
    st.lists(
        st.lists(
            st.builds(Span, st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
                      st.sampled_from(["plain", "bold", "code"])),
            max_size=4,
        ),
        max_size=12,
    ),
    st.integers(10, 200),
)  # fmt: skip
def test_no_message_is_over_the_limit_and_no_word_is_lost(
    lines: list[list[Span]], limit: int
) -> None:
    """However long a line is; marks are closed in the message they open in."""

    def markup(span: Span) -> str:
        return f"<{span.text}>" if span.style != "plain" else span.text

    def length(text: str) -> int:
        return len(text.encode("utf-16-le")) // 2

    plain = [[Span(p.text.translate({60: None, 62: None}), p.style) for p in q] for q in lines]
    sent = split_messages(Reply(plain), markup, limit, length)
    assert all(0 < length(one) <= limit for one in sent)
    assert all(one.count("<") == one.count(">") for one in sent)
    words = "".join("".join(visible_text(p.text) for p in line) for line in plain)
    kept = "".join(sent).translate({60: None, 62: None})
    assert "".join(kept.split()) == "".join(words.split())
