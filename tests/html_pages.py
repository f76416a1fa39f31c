"""What a page must be as a document: valid, whole, and without anything inline that runs."""

from collections import Counter
from typing import Any

import html5lib

_REFERENCES = ("for", "aria-describedby", "aria-labelledby")
_LABELLED = {"input", "select", "textarea"}
_VOID = {"hidden", "submit"}


def document(page: str) -> Any:
    """The page, parsed; fails on what a parser has to guess at."""
    parser = html5lib.HTMLParser(tree=html5lib.getTreeBuilder("etree"), namespaceHTMLElements=False)
    parsed = parser.parse(page)
    wrong = [
        f"{code} {details} at {place}: …{page.splitlines()[place[0] - 1][:160]}"
        for place, code, details in parser.errors
    ]
    assert not wrong, wrong[:5]
    return parsed


def check(page: str) -> Any:
    """Check a page and return it, parsed."""
    parsed = document(page)
    elements = list(parsed.iter())
    twice = [i for i, n in Counter(e.get("id") for e in elements if e.get("id")).items() if n > 1]
    assert not twice, twice
    ids = {e.get("id") for e in elements}
    for element in elements:
        for name in _REFERENCES:
            for one in (element.get(name) or "").split():
                assert one in ids, (element.tag, name, one)
    _check_inert(elements)
    _check_labels(parsed, elements)
    assert len(list(parsed.iter("h1"))) == 1
    assert parsed.find("head/title").text.strip(" ·") != ""
    for form in parsed.iter("form"):
        if form.get("method") == "post" and form.get("action") != "/signin":
            names = [e.get("name") for e in form.iter("input")]
            assert "token" in names, form.get("action")
    return parsed


def _check_inert(elements: list[Any]) -> None:
    for element in elements:
        if not isinstance(element.tag, str):
            continue
        running = [n for n in element.attrib if n.lower().startswith("on") or n == "style"]
        assert not running, (element.tag, running)
        assert element.tag not in {"iframe", "object", "embed", "base"}, element.tag
        if element.tag == "script":
            assert element.get("src", "").startswith("/static/")
            assert not (element.text or "").strip()
        for name in ("href", "src", "action", "formaction", "{http://www.w3.org/1999/xlink}href"):
            value = (element.get(name) or "/").strip()
            assert (value[0] in "/#" and not value.startswith("//")) or value.startswith("url("), (
                element.tag,
                name,
                value,
            )


def _check_labels(parsed: Any, elements: list[Any]) -> None:
    inside = {id(e) for label in parsed.iter("label") for e in label.iter()}
    named = {label.get("for") for label in parsed.iter("label")}
    for element in elements:
        if element.tag in _LABELLED and element.get("type") not in _VOID:
            assert id(element) in inside or element.get("id") in named, element.attrib
