"""Terms of a text, and terms of a question.

Both go through the same cutting and folding, and differ in two points. A text is stemmed in
the one language it is taken for, a question in every language a text may have been taken for:
a wrong guess about either never hides a word from itself, the index stays small, and the
further terms cost nothing where no text has them. And a question leaves out the words that
carry only grammar, which on LoCoMo finds two to three more answers in a hundred.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice, pairwise

from remembrancer.analysis import languages
from remembrancer.analysis.segments import Kind, Run, fold, is_han, parts, runs

MAX_TERM = 64
"""Longest term in characters; a longer token becomes its beginning and a digest."""
MAX_TERMS = 8192
"""Most distinct terms kept of one text, the first ones; few books have more stems."""
MAX_QUERY_WORDS = 64
"""Most words of a question that are looked up; the rest of a pasted page is for the vectors."""


def analyse(text: str) -> dict[str, int]:
    """Return the search terms of a text and how often each occurs.

    Words are folded (case, accents, compatibility forms) and stemmed; scripts written without
    spaces yield overlapping pairs of characters; emoji are terms. Any string is accepted, of
    any length; the same string always gives the same terms in the same order. Terms are 1 to
    ``MAX_TERM`` characters without NUL or surrogates, at most ``MAX_TERMS`` of them.
    """
    found = list(runs(fold(text)))
    words = _words(found)
    counts = Counter(_stems(words, languages.detect(words)))
    counts.update(piece for run in found for piece in _pieces(*run, asking=False))
    return {_bounded(term): count for term, count in islice(counts.items(), MAX_TERMS)}


def query_terms(text: str) -> dict[str, int]:
    """Return the terms to look up for a question, each with the number of its word, from 0.

    A word has one term for each language a text may have been stemmed in; score a text by the
    best of them, once a word. Holds every term ``analyse`` gives the same words in any text,
    except function words, which stay only where the question has no others, and what lies
    beyond the first ``MAX_QUERY_WORDS`` words.
    """
    found = list(runs(fold(text)))
    words = _words(found)
    language = languages.detect(words)
    telling = [word for word in words if not languages.is_function_word(word, language)]
    pieces = [piece for run in found for piece in _pieces(*run, asking=True)]
    if not telling and not pieces:
        telling = words
    telling = list(dict.fromkeys(telling))[:MAX_QUERY_WORDS]
    pieces = list(dict.fromkeys(pieces))[: MAX_QUERY_WORDS - len(telling)]
    return _numbered([*_forms(telling, language), *((piece,) for piece in pieces)])


def _numbered(words: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """Number words by their forms; words whose first form was met before share its number."""
    numbers: dict[str, int] = {}
    count = 0
    for forms in words:
        number = numbers.get(forms[0], count)
        count = max(count, number + 1)
        for form in forms:
            numbers.setdefault(_bounded(form), number)
    return numbers


def _words(found: Iterable[Run]) -> list[str]:
    return [_bounded(part) for kind, run in found if kind == "word" for part in parts(run)]


def _stems(words: list[str], latin: str) -> list[str]:
    stems = languages.stem(words, latin)
    for index, word in enumerate(words):
        if not word.isascii() and (language := languages.of_script(word)):
            stems[index] = languages.stem([word], language)[0]
    return stems


def _forms(words: list[str], language: str) -> list[tuple[str, ...]]:
    """Return each word's stem in every language it may be in, the likeliest first."""
    others = (other for other in languages.LATIN if other != language)
    columns = [_stems(words, latin) for latin in (language, *others)]
    return [tuple(dict.fromkeys(forms)) for forms in zip(*columns, strict=True)]


def _pieces(kind: Kind, run: str, *, asking: bool) -> Iterator[str]:
    """Return the terms of a run that is not a word: emoji, or pairs of characters."""
    if kind == "word":
        return
    if len(run) == 1 or kind == "emoji":
        yield run
        return
    yield from (first + second for first, second in pairwise(run))
    if kind == "hangul":
        # Particles follow the noun without a space, so a noun of one syllable needs this.
        yield run[0]
    elif not asking and is_han(run):
        # A question may name one character of a longer run; asked pairs are telling enough.
        yield from run


def _bounded(term: str) -> str:
    if len(term) <= MAX_TERM:
        return term
    digest = blake2b(term.encode(), digest_size=8).hexdigest()
    return term[: MAX_TERM - len(digest)] + digest
