"""Find the senders that a query names."""

from collections.abc import Iterable

from remembrancer.analysis.languages import DEFAULT, is_function_word
from remembrancer.analysis.segments import fold, parts, runs


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
        if kind == "word" and any(part in words and _is_distinctive(part) for part in parts(run)):
            return True
        # Without spaces, or with particles, a name is only a part of a run.
        if kind in {"unspaced", "hangul"} and len(run) > 1 and run in query:
            return True
    return False


def _is_distinctive(word: str) -> bool:
    return len(word) > 1 and not word.isdigit() and not is_function_word(word, DEFAULT)
