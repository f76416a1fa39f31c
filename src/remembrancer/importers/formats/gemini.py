"""Gemini's activity in Google Takeout: ``MyActivity.json`` of "My Activity", "Gemini Apps".

``gemini_html.py`` reads the same as a page.

The file is a list of activities, the newest first: what a person wrote stands in ``title`` after a
verb in the language of the account, the answer as HTML in ``safeHtmlItem``. Google publishes no
schema. An activity names its conversation by the address of its page since 2026, and before not at
all: these are a conversation for each day, by UTC. Names of files and folders depend on the
language, too; that of Gemini does not.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import Final

from pydantic import AwareDatetime, Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, Member, files, note_unread
from remembrancer.importers.captions import caption, joined, kind_of, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.formats import gemini_html
from remembrancer.importers.html_text import html_text
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, Record, in_years, record
from remembrancer.importers.spool import Spool
from remembrancer.importers.turns import storable

PLATFORM: Final = "gemini"
_PRODUCTS: Final = ("Gemini", "Bard")
_VERBS: Final = ("Prompted ", "Eingegebener Prompt: ", "Pokyn ", "Запит: ")
_LONGEST_VERB: Final = 40
_PAGE: Final = "//gemini.google.com/app/"


class _Activity(Record):
    time: AwareDatetime
    header: str = ""
    title: str = ""
    products: list[str] | None = None
    answers: list[object] | None = Field(None, alias="safeHtmlItem")
    attached: list[object] | None = Field(None, alias="attachedFiles")
    details: list[object] | None = None

    def is_of_gemini(self) -> bool:
        names = [self.header, *(self.products or ())]
        return any(product in name for name in names for product in _PRODUCTS)


def looks_like(first: object) -> bool:
    if not isinstance(first, Mapping) or not {"header", "title", "time"} <= first.keys():
        return False
    names = f"{first['header']} {first.get('products')}"
    return any(product in names for product in _PRODUCTS)


def members(bundle: Bundle) -> list[Member]:
    """Return the files that have Gemini in their path, JSON before pages; else all JSON files."""
    found = files(bundle, ".json")
    named = [m for m in files(bundle, ".json", ".html", ".htm") if "gemini" in m.name.casefold()]
    return [m for m in named if m in found] or named or found


def _activities(member: Member, options: Options) -> Iterator[tuple[str, object]]:
    if member.path.suffix.casefold() in {".html", ".htm"}:
        return gemini_html.activities(member.text(), member.where, options)
    return member.elements()


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    found = members(bundle)
    with Spool() as spool:
        for where, value in (pair for member in found for pair in _activities(member, options)):
            activity = record(_Activity, value, where, notes)
            if not activity.is_of_gemini():
                notes.skip(f"activity of {label(activity.header)}")
            elif not in_years(activity.time):
                notes.skip("activity without a valid time")
            else:
                for turn in _turns(activity, notes):
                    spool.add(_chat(activity), turn, activity.time.timestamp())
        for key in sorted(map(str, spool.chats())):
            yield from storable(PLATFORM, key, spool.turns(key), notes, options, personal=True)
    note_unread(bundle, found, notes)


def _chat(activity: _Activity) -> str:
    for detail in activity.details or ():
        _, page, chat = str(_field(detail, "url")).partition(_PAGE)
        if page and (chat := label(chat)):
            return chat
    return activity.time.astimezone(UTC).date().isoformat()


def _turns(activity: _Activity, notes: Notes) -> Iterator[Turn]:
    begins = activity.title[:_LONGEST_VERB].replace("\u00a0", " ")
    verb = next((verb for verb in _VERBS if begins.startswith(verb)), None)
    answer = joined(*(html_text(str(_field(item, "html"))) for item in activity.answers or ()))
    if verb is None and not answer:
        notes.skip("activity without a question")
        return
    question = activity.title[len(verb or "") :]
    at = activity.time.isoformat()
    captions = (_caption(item) for item in activity.attached or ())
    asked = joined(*captions, question)
    for role, text, sender in (
        (MessageRole.USER, asked, None),
        (MessageRole.ASSISTANT, answer, "Gemini"),
    ):
        yield Turn(role, text, sender, sent_at=activity.time, message_id=f"{at} {role.value}")


def _caption(item: object) -> str:
    name = item if isinstance(item, str) else str(_field(item, "name"))
    suffix = PurePosixPath(name).suffix
    return caption(kind_of(guess_type(f"x{suffix}")[0]), name)


def _field(item: object, name: str) -> object:
    return item.get(name) or "" if isinstance(item, Mapping) else ""
