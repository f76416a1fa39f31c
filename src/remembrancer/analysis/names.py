"""Which senders a question names."""

from collections.abc import Iterable

from remembrancer.analysis.languages import DEFAULT, is_function_word
from remembrancer.analysis.segments import fold, parts, runs


def named(question: str, senders: Iterable[str]) -> frozenset[str]:
    """Return those of ``senders`` whose name, or a word of it, occurs in the question.

    Case and accents do not matter. Words that are mostly grammar ("Will") name nobody, nor do
    single characters and numbers.
    """
    folded = fold(question)
    words = {part for kind, run in runs(folded) if kind == "word" for part in parts(run)}
    return frozenset(sender for sender in senders if _is_named(sender, folded, words))


def _is_named(sender: str, question: str, words: set[str]) -> bool:
    for kind, run in runs(fold(sender)):
        if kind == "word" and any(part in words and _tells(part) for part in parts(run)):
            return True
        # Without spaces, or with particles glued on, a name is only a part of a run.
        if kind in {"unspaced", "hangul"} and len(run) > 1 and run in question:
            return True
    return False


def _tells(word: str) -> bool:
    return len(word) > 1 and not word.isdigit() and not is_function_word(word, DEFAULT)
