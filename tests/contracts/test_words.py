"""Names in the source are words of docs/words.md, and none of those that docs/how-to.md bans."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "remembrancer"
PAGE = (ROOT / "docs" / "words.md").read_text(encoding="utf-8")
BANNED = (ROOT / "docs" / "how-to.md").read_text(encoding="utf-8")
# Words of the field that end like a gerund.
NOUNS = {"embedding", "finding", "paging", "reembedding", "screening", "setting"}
# Two things that happen to share their beginning.
PAIRS = {"embedded / embeddings", "parse / parser", "serve / server"}
ENDINGS = ("ings", "ing", "ers", "er", "ors", "or", "ed", "s", "")
NAMED = (
    """
user, platform link, agent, scope, memory, version, mention, association, place, space, fact,
conversation, message, window, chunk, summary, recall, hit, relevance, context, stable block,
dynamic block, review, move, merge, erasure, actor, reader, store
""".replace("\n", " ")
    .strip()
    .split(", ")
)


def banned() -> set[str]:
    """Return the banned whole names that the page lists."""
    line = BANNED.partition("**Anywhere, as a whole name:**")[2].partition("\n- ")[0]
    return set(re.findall(r"\w+", line))


def _modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if "versions" not in path.parts)


def _label(path: Path) -> str:
    name = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    return name.removesuffix(".__init__")


def _words(name: str) -> list[str]:
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)


def _names(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Return the classes, private ones too, and the public functions and methods of a module."""
    for node in ast.walk(tree):
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.ClassDef) or (function and not node.name.startswith("_")):  # type: ignore[attr-defined]
            yield node.name, node  # type: ignore[attr-defined]


def test_the_page_bans_what_the_house_style_does() -> None:
    """The list is read as it stands, so that it cannot be empty unnoticed."""
    assert banned() >= {"kept", "found", "made", "told", "said", "known", "keep", "walked"}


def test_no_module_has_a_banned_name() -> None:
    """A module is named by a noun: no gerund, no participle."""
    names = {_label(path): path.stem for path in _modules()}
    wrong = {
        label
        for label, stem in names.items()
        if (stem.endswith("ing") and stem not in NOUNS) or set(stem.lower().split("_")) & banned()
    }
    assert not wrong


def test_no_two_modules_differ_by_an_ending() -> None:
    """Nobody has to remember whether it was the noun or the gerund."""
    groups: dict[str, set[str]] = defaultdict(set)
    for path in _modules():
        stem = path.parent.name if path.stem == "__init__" else path.stem
        root = next(stem.removesuffix(end) for end in ENDINGS if stem.endswith(end))
        groups[root.removesuffix("e") if len(root) > 4 else root].add(stem)
    # A singular beside its plural is two things: one memory, and all of them.
    twins = {
        " / ".join(sorted(group))
        for group in groups.values()
        if len({stem.removesuffix("s").removesuffix("ie").removesuffix("y") for stem in group}) > 1
    }
    assert not twins - PAIRS


@pytest.mark.parametrize("kind", ["classes", "functions"])
def test_no_class_or_function_has_a_banned_name(kind: str) -> None:
    """Classes are nouns and functions verbs or nouns, in the words of the field."""
    wrong = set()
    for path in _modules():
        for name, node in _names(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) == (kind == "classes") and _is_banned(name, node):
                wrong.add(f"{_label(path)}.{name}")
    assert not wrong


def _is_banned(name: str, node: ast.AST) -> bool:
    if name.strip("_").lower() in banned():
        return True
    if not isinstance(node, ast.ClassDef) or name.startswith("_") or _is_error(node):
        return False
    last = _words(name)[-1].lower()
    if last in NOUNS:
        return False
    return last in banned() or (len(last) > 4 and last.endswith(("ed", "ing")))


def _is_error(node: ast.ClassDef) -> bool:
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return any(base.endswith(("Error", "Exception")) or base in ERRORS for base in bases)


ERRORS = {
    node.name
    for node in ast.walk(ast.parse((SOURCE / "errors.py").read_text(encoding="utf-8")))
    if isinstance(node, ast.ClassDef)
}


def test_every_noun_of_the_vocabulary_is_explained_once() -> None:
    """The page has one sentence or more for each word, and no word twice."""
    words = re.findall(r"^- \*\*([A-Z][^*.]+)\.\*\*", PAGE, re.MULTILINE)
    assert len(words) == len(set(words))
    explained = " ".join(re.findall(r"\*\*([^*]+)\*\*", PAGE)).lower()
    for word in NAMED:
        assert word in explained, word
