"""Search terms of a text and of a query, and the senders that a query names.

Texts and queries are split and folded in the same way, with two differences. A text is stemmed in
its detected language, a query in every language that a text can have: so a wrong detection never
hides a word, the index stays small, and extra terms cost nothing if no text has them. A query
omits function words, which finds two to three more answers in a hundred on LoCoMo.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import islice, pairwise

from remembrancer.analysis import languages
from remembrancer.analysis.segments import Kind, Run, fold, is_han, parts, runs

MAX_TERM = 64
"""Maximum characters of a term; a longer token becomes its beginning and a digest."""
MAX_TERMS = 8192
"""Maximum distinct terms of a text, the first ones; few books have more stems."""
MAX_QUERY_WORDS = 64
"""Maximum words of a query; vectors cover the rest of a pasted page."""


def analyse(text: str) -> dict[str, int]:
    """Return the search terms of a text and their counts.

    Words are folded (case, accents, compatibility forms) and stemmed. Scripts without spaces
    give overlapping pairs of characters. Emoji are terms. Accepts any string of any length; the
    same string always gives the same terms in the same order. There are up to ``MAX_TERMS``
    terms, of 1 to ``MAX_TERM`` characters without NUL or surrogates.
    """
    segments = list(runs(fold(text)))
    words = _words(segments)
    counts = Counter(_stems(words, languages.detect(words)))
    if not text.isascii():
        counts.update(piece for run in segments for piece in _pieces(*run, in_query=False))
    return {_bounded(term): count for term, count in islice(counts.items(), MAX_TERMS)}


def query_terms(text: str) -> dict[str, int]:
    """Return the search terms of a query, each with the number of its word, from 0.

    A word has a term for each language in which a text may be stemmed; score a text by the best
    of them, once per word. The result includes every term that ``analyse`` gives the same words,
    except function words (unless the query has only those) and words after the first
    ``MAX_QUERY_WORDS``.
    """
    segments = list(runs(fold(text)))
    words = _words(segments)
    language = languages.detect(words)
    content_words = [word for word in words if not languages.is_function_word(word, language)]
    pieces = [piece for run in segments for piece in _pieces(*run, in_query=True)]
    if not content_words and not pieces:
        content_words = words
    content_words = list(dict.fromkeys(content_words))[:MAX_QUERY_WORDS]
    pieces = list(dict.fromkeys(pieces))[: MAX_QUERY_WORDS - len(content_words)]
    return _numbered([*_forms(content_words, language), *((piece,) for piece in pieces)])


def _numbered(words: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """Number words by their forms; words with the same first form share a number."""
    numbers: dict[str, int] = {}
    count = 0
    for forms in words:
        number = numbers.get(forms[0], count)
        count = max(count, number + 1)
        for form in forms:
            numbers.setdefault(_bounded(form), number)
    return numbers


def _words(segments: Iterable[Run]) -> list[str]:
    return [_bounded(part) for kind, run in segments if kind == "word" for part in parts(run)]


def _stems(words: list[str], latin: str) -> list[str]:
    stems = languages.stem(words, latin)
    for index, stem in _other_scripts(words):
        stems[index] = stem
    return stems


def _other_scripts(words: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the number and the stem of each word whose script tells its language."""
    for index, word in enumerate(words):
        if not word.isascii() and (language := languages.of_script(word)):
            yield index, languages.stem([word], language)[0]


def _forms(words: list[str], language: str) -> list[tuple[str, ...]]:
    """Return each word's stem in every possible language, ``language`` first."""
    forms = [_forms_of(word, language) for word in words]
    for index, stem in _other_scripts(words):
        forms[index] = (stem,)
    return forms


@lru_cache(maxsize=4096)
def _forms_of(word: str, language: str) -> tuple[str, ...]:
    others = (other for other in languages.LATIN if other != language)
    return tuple(dict.fromkeys(languages.stem([word], latin)[0] for latin in (language, *others)))


def _pieces(kind: Kind, run: str, *, in_query: bool) -> Iterator[str]:
    """Yield the terms of a run that is not a word: an emoji, or pairs of characters."""
    if kind == "word":
        return
    if len(run) == 1 or kind == "emoji":
        yield run
        return
    yield from (first + second for first, second in pairwise(run))
    if kind == "hangul":
        # Particles follow a noun without a space, so a noun of one syllable needs this.
        yield run[0]
    elif not in_query and is_han(run):
        # A query may have one character of a longer run; its own pairs need no such term.
        yield from run


def _bounded(term: str) -> str:
    if len(term) <= MAX_TERM:
        return term
    digest = blake2b(term.encode(), digest_size=8).hexdigest()
    return term[: MAX_TERM - len(digest)] + digest


def named_senders(query: str, senders: Iterable[str]) -> frozenset[str]:
    """Return the ``senders`` whose name, or a word of it, is in the query.

    Case and accents are ignored. Function words ("Will"), single characters and numbers do not
    count as names.
    """
    folded = fold(query)
    words = {part for kind, run in runs(folded) if kind == "word" for part in parts(run)}
    return frozenset(sender for sender in senders if _is_named(sender, folded, words))


def _is_named(sender: str, query: str, words: set[str]) -> bool:
    for kind, run in runs(fold(sender)):
        if kind == "word" and any(
            len(part) > 1
            and not part.isdigit()
            and not languages.is_function_word(part, languages.DEFAULT)
            for part in words.intersection(parts(run))
        ):
            return True
        # Without spaces, or with particles, a name is only a part of a run.
        if kind in {"unspaced", "hangul"} and len(run) > 1 and run in query:
            return True
    return False
