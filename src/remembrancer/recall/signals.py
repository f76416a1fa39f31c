"""What speaks for a candidate: one number for each signal. Pure: no I/O, no clock.

The answer to a question often has none of its words: it stands beside them. So a message has
signals of its own, of the messages around it, and of the stretch of talk it is in. A memory that is
from a message among the candidates has that message's too. Other memories and chunks have no
neighbours; they get what a message of the same rank gets from them.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Final

import numpy as np

from remembrancer.analysis import Question
from remembrancer.recall.candidates import CHUNK, MESSAGE, PLACES, Candidates, Floats, Ints, Mask
from remembrancer.search.traits import ASKS, ENDS_ASKING, FIRST_PERSON, TELLS_TIME, WORDS

SIGNALS: Final = (
    "meaning",
    "words",
    "words_found",
    "meaning_before",
    "words_before",
    "words_asked_before",
    "stretch",
    "sender",
    "sender_of_self",
    "length",
    "asks",
    "time_when_asked",
    "time",
    "days",
    "assistant",
)
"""The columns of :func:`measure`.

`meaning`: similarity of meaning to the question, in standard deviations of the candidates' own.
`words`: BM25 of the question's words, each by its best score in the message and its neighbours,
as a share of the best candidate's. `words_found`: share of the question's words in the text.
`meaning_before`, `words_before`: of the message before. `words_asked_before`: `words_before` if
that message asks and another sender answers. `stretch`: the best `meaning` in the same stretch of
talk. `sender`: 1 for a sender whom the question names, -1 for another one. `sender_of_self`: 1 if
a named sender speaks in the first person. `length`: logarithm of the number of words. `asks`:
whether it ends with a question. `time`: whether it tells a time; `time_when_asked`: if the
question asks for one. `days`: whether it was said in the days that the question names or shortly
after. `assistant`: whether an assistant said it.
"""

OF_TEXT: Final = [SIGNALS.index(name) for name in ("meaning", "words", "words_found")]
"""The columns of a memory's own, if it is from a message among the candidates. It has the others
from that message."""
PER_ARM: Final = 16
"""Candidates of each arm, messages and others apart. More change hardly anything (decision 32), and
nothing in the scale of `meaning`: it is that of the best of each arm and their neighbours."""
REACH: Final = 2
"""Neighbours on each side. The candidate query returns as many."""
SHARE: Final = 0.7
"""Share of the score of a neighbour's words that a message gets, per step of distance."""
NAME: Final = 0.5
"""How much of the meaning of names is taken from the question's: messages carry the name of their
sender, and short ones little else."""
LATER: Final = timedelta(days=4)
"""Until when after the first second of a day people tell what happened on it."""
_PAUSE: Final = 6 * 3600
"""Seconds of silence that end a stretch of talk."""
_MOST_WORDS: Final = 40
"""Words from which on a longer text is no better."""
_NARROW: Final = 0.02
"""Smallest standard deviation of similarities that means something."""
_OFFSETS: Final = np.array(
    [offset for step in range(1, REACH + 1) for offset in (-step, step)], dtype=np.int64
)
_SHARES: Final = (SHARE ** np.abs(_OFFSETS))[:, None, None]
_ZERO: Final = np.zeros(1)
_DENSE: Final = _MOST_WORDS + FIRST_PERSON
"""A memory says in a few words what a message says in many."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The question that candidates are measured against."""

    question: Question = field(default_factory=Question)
    senders: Collection[str] = ()
    """The senders that it names, spelled as ``sender_name``."""
    names: Sequence[int] = ()
    """Which of its names are of senders, by index."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Arrays in the order of the candidates, of shape (n,) unless said otherwise."""

    matrix: Floats
    """The signals, shape (n, signals)."""
    cosine: Floats
    """Cosine similarity to the question."""
    similarity: Floats
    """``cosine``, less that to the names of senders."""
    embedded: Mask
    near_words: Floats
    """BM25 of each word of the question with the shares of neighbours, shape (n, words)."""
    bm25: Floats
    words: Floats
    """``bm25`` with the shares of neighbours."""
    words_from: Ints
    """Offset of the neighbour whose words gave most, 0 for none."""
    twins: Sequence[tuple[int, int]]
    """Rows of memories or chunks, and of messages with the same text."""


def measure(candidates: Candidates, asked: Interpretation) -> Measures:
    """Measure each candidate by each of ``SIGNALS``."""
    messages = candidates.sources == MESSAGE
    places = candidates.places
    order = np.argsort(places, kind="stable")
    neighbours = _neighbours(places, order, _OFFSETS)
    alone = neighbours.max(axis=1) < 0
    spoken = np.where(messages, candidates.traits, _DENSE)
    first_person, tells_time, asks, ends_asking = (
        (spoken & trait) > 0 for trait in (FIRST_PERSON, TELLS_TIME, ASKS, ENDS_ASKING)
    )
    facts = candidates.cited >= 0

    distance = candidates.distance
    embedded = ~np.isnan(distance)
    twins = _twins(distance, messages)
    own = candidates.words
    bm25 = own.sum(axis=1)
    cosine = similarity = np.where(embedded, 1.0 - distance, 0.0)
    # Facts say what their messages say: they are no further measure.
    best = _best(similarity, embedded & ~facts) | _best(bm25, (bm25 > 0) & ~facts)
    yardstick = embedded & (best | (best[neighbours] & (neighbours >= 0)).any(axis=1))
    if asked.names:
        to_names = candidates.name_distances[:, list(asked.names)]
        similarity = similarity - NAME * (1.0 - to_names.mean(axis=1))
    meaning = _standard(similarity, embedded, yardstick)
    least = meaning.min()
    best_of_stretch = _best_of_stretch(candidates.at, places, order, meaning)
    stretch = least + _level(alone, meaning - least, best_of_stretch - least)

    padded = np.concatenate([own, np.zeros_like(own[:1])])
    shares = padded[neighbours.T] * _SHARES
    # Each word of the question counts once: a sum would reward repetition.
    near = np.maximum(own, shares.max(axis=0))
    gains = np.maximum(shares - own, 0.0).sum(axis=2)
    words = _level(alone, bm25, near.sum(axis=1), twins)

    before = neighbours[:, 0]
    has_before = before >= 0
    words_before = np.where(has_before, _share_of_best(bm25)[before], 0.0)
    answers = has_before & (candidates.speakers[before] != candidates.speakers)
    sender = _senders(candidates, asked.senders)
    named = sender > 0
    own_words = max(asked.question.terms.values(), default=0) + 1
    columns = {
        "meaning": meaning,
        "words": _share_of_best(words),
        "words_found": (own > 0).sum(axis=1) / own_words,
        "meaning_before": np.where(has_before, meaning[before], 0.0),
        "words_before": words_before,
        "words_asked_before": words_before * answers * asks[before],
        "stretch": stretch,
        "sender": sender,
        "sender_of_self": named * first_person,
        "length": np.log1p(np.minimum(spoken & WORDS, _MOST_WORDS)),
        "asks": ends_asking,
        "time_when_asked": tells_time * asked.question.asks_when,
        "time": tells_time,
        "days": _in_days(candidates, asked.question),
        "assistant": candidates.of_speakers(lambda speaker: speaker[0] == "assistant"),
    }
    matrix = np.array([columns[name] for name in SIGNALS], np.float64).T
    of_message = matrix[candidates.cited[facts]]
    of_message[:, OF_TEXT] = matrix[facts][:, OF_TEXT]
    matrix[facts] = of_message
    most = gains.argmax(axis=0)
    return Measures(
        matrix=matrix,
        cosine=cosine,
        similarity=similarity,
        embedded=embedded,
        near_words=near,
        bm25=bm25,
        words=words,
        words_from=np.where(gains.max(axis=0) > 0, _OFFSETS[most], 0),
        twins=twins,
    )


def days_told(question: Question) -> tuple[datetime, datetime] | None:
    """Return the time in which the days of a question are told of: from, and before."""
    if question.days is None:
        return None
    first, last = (datetime.combine(day, time(), UTC) for day in question.days)
    return first, last + LATER


def _neighbours(keys: Ints, order: Ints, offsets: Ints) -> Ints:
    """Return the rows of each candidate's neighbours, shape (n, offsets), -1 for none."""
    targets = np.where(keys[:, None] < 0, -2, keys[:, None] + offsets)
    rows = order[np.minimum(np.searchsorted(keys[order], targets), len(keys) - 1)]
    return np.where(keys[rows] == targets, rows, -1)


def _best_of_stretch(at: Floats, keys: Ints, order: Ints, meaning: Floats) -> Floats:
    talks, at = keys[order] >> PLACES, at[order]
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = (talks[1:] != talks[:-1]) | (at[1:] - at[:-1] > _PAUSE) | (talks[1:] < 0)
    best = np.empty_like(meaning)
    of_stretch = np.maximum.reduceat(meaning[order], np.flatnonzero(starts))
    best[order] = of_stretch[np.cumsum(starts) - 1]
    return best


def _best(values: Floats, ranked: Mask) -> Mask:
    """Return which ranked values are at least the ``PER_ARM``-th best."""
    ascending = np.sort(values[ranked])
    at_least: Mask = values >= (ascending[-PER_ARM:][0] if len(ascending) else np.inf)
    return ranked & at_least


def _standard(values: Floats, known: Mask, yardstick: Mask) -> Floats:
    """Return values in standard deviations from the mean of the yardstick's."""
    if not yardstick.any():
        return np.zeros_like(values)
    # Sorted, because a sum of floats depends on their order.
    measured = np.sort(values[yardstick])
    mean = measured.sum() / len(measured)
    spread = max(math.sqrt(np.square(measured - mean).sum() / len(measured)), _NARROW)
    standard: Floats = (np.where(known, values, measured[0]) - mean) / spread
    return standard


def _share_of_best(values: Floats) -> Floats:
    return values / max(float(values.max()), 1e-6)


def _level(
    alone: Mask, raw: Floats, score: Floats, twins: Sequence[tuple[int, int]] = ()
) -> Floats:
    """Raise items without neighbours as much as messages of the same rank.

    The third best raw score becomes the third best score of the messages. Otherwise, every
    message beside a good one would rank above the memories that were extracted from it. An
    item never ranks below a message with the same text.
    """
    paired = ~alone
    if not alone.any() or not paired.any():
        return score
    matched = _match(raw, np.sort(raw[paired]), np.sort(score[paired]))
    levelled = np.where(alone, matched, score)
    for item, message in twins:
        if raw[message] <= raw[item]:
            levelled[item] = max(levelled[item], levelled[message])
    return levelled


def _match(values: Floats, raw: Floats, score: Floats) -> Floats:
    """Map values from the distribution ``raw`` to ``score``, both ascending, in their order."""
    last = np.ones(len(raw), dtype=bool)
    last[:-1] = raw[1:] > raw[:-1]
    source, target = np.concatenate([_ZERO, raw[last]]), np.concatenate([_ZERO, score[last]])
    inside = np.interp(values, source, target)
    above = target[-1] + np.maximum(values - source[-1], 0.0)
    return np.where(values > 0, np.where(values > source[-1], above, inside), 0.0)


def _twins(distance: Floats, messages: Mask) -> list[tuple[int, int]]:
    """Pair memories and chunks with the messages of the same text."""
    # The same text has the same vector, and so the same distance. NaN equals nothing.
    items, said = np.flatnonzero(~messages), np.flatnonzero(messages)
    if not len(items) or not len(said):
        return []
    of_items = np.sort(distance[items])
    at = np.minimum(np.searchsorted(of_items, distance[said]), len(items) - 1)
    repeated = said[of_items[at] == distance[said]]
    return [
        (item, message)
        for message in repeated.tolist()
        for item in items[distance[items] == distance[message]].tolist()
    ]


def _senders(candidates: Candidates, named: Collection[str]) -> Floats:
    if candidates.senders.isdisjoint(named):
        return np.zeros(len(candidates.ids))
    of_speaker = candidates.of_speakers(
        lambda speaker: 1.0 if speaker[1] is None or speaker[1] in named else -1.0
    )
    # Several people speak in a chunk.
    return np.where(candidates.sources == CHUNK, 0.0, of_speaker)


def _in_days(candidates: Candidates, question: Question) -> Mask:
    told = days_told(question)
    if told is None:
        return np.zeros(len(candidates.ids), dtype=bool)
    return (candidates.at >= told[0].timestamp()) & (candidates.at < told[1].timestamp())
