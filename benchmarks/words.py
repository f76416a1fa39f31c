"""Random chat lines, with word frequencies like those of real text."""

import random
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

# Roughly by frequency: the weight of the n-th word is 1/n.
COMMON = Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split()
NAMES = [
    "Ada",
    "Bram",
    "Chiara",
    "Deniz",
    "Edda",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kemal",
    "Lena",
    "Mira",
    "Nils",
    "Olga",
    "Pavel",
]
SYLLABLES = [
    "ba",
    "cor",
    "del",
    "fin",
    "gar",
    "hol",
    "ion",
    "jak",
    "kel",
    "lum",
    "mar",
    "nor",
    "ost",
    "pel",
    "qui",
    "ran",
    "sol",
    "tar",
    "und",
    "vel",
    "wex",
    "yor",
    "zan",
]


def vocabulary(size: int) -> Sequence[str]:
    """Return ``size`` words: first the common ones, then rare ones of syllables."""
    words = dict.fromkeys(COMMON)
    generator = random.Random(7)
    while len(words) < size:
        words["".join(generator.choices(SYLLABLES, k=generator.randint(2, 4)))] = None
    return list(words)[:size]


class Chat:
    """Endless chat lines of 4 to 40 words; the same seed gives the same lines."""

    def __init__(self, seed: int, words: Sequence[str] | None = None) -> None:
        self._random = random.Random(seed)
        self._words = words or vocabulary(5000)
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))

    def line(self, *, least: int = 4, most: int = 40) -> str:
        """Return one line, which may name a person."""
        length = min(most, max(least, round(self._random.lognormvariate(2.9, 0.6))))
        words = self._random.choices(self._words, cum_weights=self._weights, k=length)
        if self._random.random() < 0.3:
            words[self._random.randrange(length)] = self._random.choice(NAMES)
        return " ".join(words).capitalize() + self._random.choice(".!?")

    def lines(self, count: int) -> list[str]:
        """Return ``count`` lines."""
        return [self.line() for _ in range(count)]

    def question(self) -> str:
        """Return a question of 5 to 9 words, mostly rare ones."""
        words = self._random.choices(self._words[100:], k=self._random.randint(3, 5))
        return f"When did {self._random.choice(NAMES)} {' '.join(words)}?"
