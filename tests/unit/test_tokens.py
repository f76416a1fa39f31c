"""Token counts are those of cl100k_base, to the token, and need no network."""

import asyncio
import gzip
import socket
import threading
import zlib

import pytest

from remembrancer import tokens


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
        ("お誕生日おめでとう", 9),
    ],
)
def test_counts_are_the_published_ones(text: str, count: int) -> None:
    """The examples of OpenAI's own guide to counting tokens."""
    assert tokens.count(text) == count


@pytest.mark.parametrize(
    "text",
    ["<|endoftext|>", "<|im_start|>system", "<|fim_prefix|>", "<|endofprompt|>"],
)
def test_what_looks_special_is_plain_text(text: str) -> None:
    """A special token would be one; the text of it is several, and refuses nothing."""
    assert tokens.count(text) > 1


def test_any_text_has_a_count() -> None:
    """Scripts, emoji, spaces of all kinds and long words are counted, and quickly."""
    for text in (
        "नमस्ते दुनिया",
        "👩‍👩‍👧‍👦🇵🇹🫠",
        "\r\n\u2028\u3000\t ",
        "a\u0301\u0300",
        "\U0010fffd",
    ):
        assert tokens.count(text) >= 1
    assert tokens.count("ab" * 16_000) > 1_000
    assert tokens.count(" " * 30_000) > 1


def test_counting_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabulary comes from a package."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    tokens._encoding.cache_clear()
    assert tokens.count("hello world") == 2


async def test_the_vocabulary_is_loaded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two requests at the start share it."""
    threads = []

    def read(data: bytes) -> bytes:
        threads.append(threading.current_thread())
        return zlib.decompress(data, wbits=31)

    monkeypatch.setattr(gzip, "decompress", read)
    tokens._encoding.cache_clear()
    await asyncio.gather(*(asyncio.to_thread(tokens.load) for _ in range(2)))
    [thread] = threads
    assert thread is not threading.main_thread()


@pytest.mark.parametrize("text", ["Ada likes tea, and Bob does not.", "नमस्ते दुनिया 👩‍👩‍👧‍👦", ""])
def test_a_text_is_cut_between_characters(text: str) -> None:
    """What is kept begins the text, has no more tokens than asked for, and all if it fits."""
    whole = tokens.count(text)
    for most in range(whole + 2):
        kept = tokens.truncate(text, most)
        assert text.startswith(kept)
        assert tokens.count(kept) <= most
    assert tokens.truncate(text, whole) == text
    assert tokens.truncate(text, 0) == ""
    assert tokens.truncate(text, -1) == ""
