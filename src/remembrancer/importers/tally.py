"""Which keys came already, in 16 bytes for each. Pure."""

from hashlib import blake2b
from typing import Final

import numpy as np

_RECENT: Final = 50_000
"""Keys in a set of Python, which takes ten times as much, until they are sorted in."""


class Tally:
    """Counts how often each key came."""

    def __init__(self) -> None:
        self._recent: set[bytes] = set()
        self._sorted = np.empty(0, "S16")
        self._counts: dict[bytes, int] = {}
        """Of keys that came more than once."""

    def add(self, key: str) -> int:
        """Return the number of times that the key came, with this one."""
        hashed = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if hashed in self._counts or hashed in self._recent or self._is_sorted_in(hashed):
            count = self._counts[hashed] = self._counts.get(hashed, 1) + 1
            return count
        self._recent.add(hashed)
        if len(self._recent) == _RECENT:
            recent = np.array(list(self._recent), "S16")
            self._sorted = np.concatenate([self._sorted, recent])
            self._sorted.sort(kind="stable")  # which merges what is in order
            self._recent.clear()
        return 1

    def _is_sorted_in(self, hashed: bytes) -> bool:
        at = int(self._sorted.searchsorted(np.bytes_(hashed)))
        # An array of bytes has no zeros at the end.
        return at < len(self._sorted) and bool(self._sorted[at] == hashed.rstrip(b"\0"))
