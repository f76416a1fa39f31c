"""Pages in other languages: which one a browser gets, and that no text is left out."""

import re
from collections.abc import Iterator
from pathlib import Path

import html_pages
import pytest
from helpers import rows
from pages import Browser, World, base
from texts import ROOT, extracted, translated, write_greek

from remembrancer.errors import ConfigurationError
from remembrancer.users.schemas import zones
from remembrancer.web import labels, languages

CODE = {"script", "style", "code", "kbd", "pre", "textarea"}
SHOWN = ("aria-label", "title", "placeholder", "alt")
SAME = {
    *("Remembrancer", "MCP", "REST", "JSON", "CSV", "API", "UTC", "Python", "Claude", "Code"),
    *("Desktop", "Cursor", "VS", "ChatGPT", "Discord", "Slack", "Telegram", "WhatsApp", "mem"),
    *("Gemini", "Open", "WebUI", "LibreChat", "SillyTavern", "Codex", "Messenger", "Signal"),
    *("Matrix", "Zep", "Letta", "LangMem", "Hindsight"),
    *("REMEMBRANCER", "KEY", "mcp", "json", "cursor", "vscode"),  # in names of files
    *("LoCoMo", "English", "Deutsch", "DiscordChatExporter", "get", "all", "cl", "k", "base", "MB"),
}
"""Names, which are the same in every language."""


@pytest.fixture
def greek(tmp_path: Path) -> Iterator[None]:
    write_greek(tmp_path)
    languages.offer(tmp_path)
    yield
    languages.offer(None)


def words_of() -> set[str]:
    """All words that the store has, which are shown as they are."""
    found: set[str] = set()
    tables = rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
    )
    for [table] in tables:
        for row in rows(f'SELECT t::text FROM "{table}" t'):
            found.update(re.findall(r"[A-Za-z]+", row[0]))
    return found


def texts_of(page: str) -> Iterator[str]:
    """Each text of a page, and the attributes that are shown or read out."""
    for element in html_pages.document(page).iter():
        if not isinstance(element.tag, str) or element.tag in CODE:
            texts = [element.tail]
        else:
            texts = [element.text, element.tail, *(element.get(name) for name in SHOWN)]
        yield from (text.strip() for text in texts if text and text.strip())


@pytest.mark.usefixtures("greek")
async def test_no_text_of_a_page_is_left_in_english(
    ada_there: Browser, admin_there: Browser, world: World
) -> None:
    """With every text in Greek letters, only names and what people said are in Latin ones."""
    known = words_of() | SAME | {word for zone in zones() for word in re.findall("[A-Za-z]+", zone)}
    left: dict[str, str] = {}
    for browser, paths in (
        (ada_there, world.pages_of_ada),
        (admin_there, [*world.pages_of_admins, *world.pages_of_ada]),
    ):
        browser.client.headers["Accept-Language"] = "el"
        for path in paths:
            page = (await browser.client.get(path, follow_redirects=True)).text
            asked = set(re.findall(r"[A-Za-z]+", path))
            for text in texts_of(page):
                if not set(re.findall(r"[A-Za-z]+", text)) <= known | asked:
                    left.setdefault(text, path)
    assert not left, "\n".join(f"{text!r} on {path}" for text, path in left.items())


def test_every_text_is_in_german() -> None:
    """None is missing, none is left over, and what is put into a text stays in it."""
    german, wanted = translated("de"), extracted()
    said = {(message.id, message.context) for message in german if message.id}
    missing = [m.id for m in wanted if m.id and (m.id, m.context) not in said]
    assert not missing, f"run `make messages`, then translate: {missing}"
    needed = {(message.id, message.context) for message in wanted}
    assert not said - needed, "run `make messages`"
    for message in german:
        if message.id:
            strings = message.string if isinstance(message.string, tuple) else (message.string,)
            assert all(strings), message.id
            assert not message.fuzzy, message.id
            assert not list(message.check(german)), message.id


def test_the_page_gives_scripts_their_texts() -> None:
    """Each text that a script says is one of those, and no other."""
    scripts = (ROOT / "src/remembrancer/web/static").glob("*.js")
    said = {text for file in scripts for text in re.findall(r'say\("([^"]+)"', file.read_text())}
    assert said == set(labels.SCRIPT_TEXTS)


async def test_a_browser_gets_the_language_that_it_asks_for(
    ada_there: Browser, world: World
) -> None:
    """The one chosen on a page comes before those that the browser names; the rest is English."""
    memories = f"{base(world)}/memories"
    for asked, title in [
        ("de-AT,de;q=0.9,en;q=0.8", "Erinnerungen"),
        ("fr,en;q=0.5,de;q=0.9", "Erinnerungen"),
        ("fr", "Memories"),
        ("en-US,de", "Memories"),
        ("", "Memories"),
        ("de;q=0", "Memories"),
        ("q=;;,,;x" * 50, "Memories"),
    ]:
        ada_there.client.headers["Accept-Language"] = asked
        page = await ada_there.get(memories)
        assert f"<h1>{title}</h1>" in page, asked
    ada_there.client.headers["Accept-Language"] = "en"
    page = await ada_there.post("/language", language="de", back=memories)
    assert "<h1>Erinnerungen</h1>" in page
    assert '<html lang="de"' in page
    await ada_there.post("/language", 422, language="xx")


def test_a_file_that_would_break_a_page_stops_the_start(tmp_path: Path) -> None:
    """No directory, no catalogue, or a text that lacks what is put into it."""
    with pytest.raises(ConfigurationError, match="is not a directory"):
        languages.offer(tmp_path / "none")
    for content, wrong in [
        ("no catalogue", "is no file of texts"),
        ('#, python-format\nmsgid "%(count)s more"\nmsgstr "%(cuont)s plus"\n', "more"),
    ]:
        (tmp_path / "fr.po").write_text(content)
        with pytest.raises(ConfigurationError, match=wrong):
            languages.offer(tmp_path)
    languages.offer(None)
