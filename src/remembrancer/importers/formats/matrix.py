"""Element's JSON of a Matrix room: one file, or ``export.json`` in an archive with its media.

It has events as the protocol has them, decrypted. An edit is an event of its own that replaces
another. Names are in the events in which people join.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import Field

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.bundle import Bundle, main
from remembrancer.importers.captions import caption, joined, label
from remembrancer.importers.exported_conversations import Transcript, Turn
from remembrancer.importers.moments import milliseconds
from remembrancer.importers.options import Account, Options
from remembrancer.importers.parse import Notes, Record, record
from remembrancer.importers.turns import storable
from remembrancer.text import Key

PLATFORM: Final = "matrix"
FILE: Final = "export.json"
_MEDIA: Final = {
    "m.image": "photo",
    "m.video": "video",
    "m.audio": "audio",
    "m.file": "file",
    "m.location": "location",
    "m.sticker": "sticker",
}


class _Room(Record):
    room_name: str | None = None
    exported_by: str | None = None
    messages: list[Any]


class _Event(Record):
    type: str
    sender: Key
    event_id: Key
    room_id: Key | None = None
    state_key: str | None = None
    origin_server_ts: int = Field(ge=0, lt=2**63)
    content: dict[str, Any] = Field(default_factory=dict)

    def relation(self) -> Mapping[str, Any]:
        relation = self.content.get("m.relates_to")
        return relation if isinstance(relation, Mapping) else {}

    def replaced(self) -> str | None:
        """Return the id of the event that this one is an edit of."""
        relation = self.relation()
        return str(relation.get("event_id")) if relation.get("rel_type") == "m.replace" else None


def looks_like(content: Any) -> bool:
    return isinstance(content, Mapping) and {"room_name", "exported_by"} <= content.keys()


def find_account(bundle: Bundle) -> Account | None:
    member = main(bundle, FILE)
    room = record(_Room, member.json(), member.where)
    names = _names(_events(room, member.where, Notes()))
    exporter = label(room.exported_by)
    found = {key for key, name in names.items() if exporter in {key, name}}
    return Account(PLATFORM, found.pop(), exporter) if len(found) == 1 else None


def read(bundle: Bundle, options: Options, notes: Notes) -> Iterator[Transcript]:
    member = main(bundle, FILE)
    room = record(_Room, member.json(), member.where, notes)
    events = _events(room, member.where, notes)
    names = _names(events)
    edits = _edits(events)
    turns = []
    for event in events:
        if event.type not in {"m.room.message", "m.sticker"}:
            notes.skip(f"event of kind {label(event.type)}")
        elif event.replaced() is not None:
            notes.skip("edit of a message")
        elif not event.content:
            notes.skip("deleted message")
        else:
            turns.append(_turn(event, edits, names, member.where))
    turns.sort(key=lambda turn: turn[0])
    key = next((event.room_id for event in events if event.room_id), None)
    title = label(room.room_name)
    said = [turn for _, turn in turns]
    yield from storable(PLATFORM, key or title or "room", said, notes, options, title=title)


def _events(room: _Room, where: str, notes: Notes) -> list[_Event]:
    events = []
    for number, value in enumerate(room.messages, 1):
        if value is None:
            notes.skip("message that was not decrypted")
        else:
            events.append(record(_Event, value, f"{where}, message {number}", notes))
    return events


def _names(events: list[_Event]) -> dict[str, str]:
    names = {event.sender: event.sender for event in events}
    for event in events:
        name = event.content.get("displayname")
        if event.type == "m.room.member" and event.state_key in names and isinstance(name, str):
            names[event.state_key] = label(name) or event.state_key
    return names


def _edits(events: list[_Event]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the latest content by the id of the edited message and its sender."""
    edits = {}
    for event in sorted(events, key=lambda event: event.origin_server_ts):
        content, edited = event.content.get("m.new_content"), event.replaced()
        if edited is not None and isinstance(content, Mapping):
            edits[edited, event.sender] = content
    return edits


def _turn(
    event: _Event,
    edits: Mapping[tuple[str, str], Mapping[str, Any]],
    names: Mapping[str, str],
    where: str,
) -> tuple[int, Turn]:
    position = f"{where}, event {event.event_id}, origin_server_ts"
    content = edits.get((event.event_id, event.sender), event.content)
    kind = str(content.get("msgtype") or event.type)
    is_notice = kind == "m.notice"  # only programs write these
    return event.origin_server_ts, Turn(
        role=MessageRole.ASSISTANT if is_notice else MessageRole.USER,
        content=_content(content, kind, is_reply="m.in_reply_to" in event.relation()),
        sender=names[event.sender],
        platform_user_id=None if is_notice else event.sender,
        sent_at=milliseconds(event.origin_server_ts, position),
        message_id=event.event_id,
    )


def _content(content: Mapping[str, Any], kind: str, *, is_reply: bool) -> str:
    body, name = (value if isinstance(value, str) else "" for value in (
        content.get("body"), content.get("filename"),
    ))  # fmt: skip
    if kind in _MEDIA:
        return joined(caption(_MEDIA[kind], name or body), body if name and name != body else "")
    return joined(_without_quotation(body) if is_reply else body)


def _without_quotation(body: str) -> str:
    """Return a reply without the words that it answers, which are in lines before it."""
    lines = body.split("\n")
    while lines and lines[0].startswith(">"):
        lines.pop(0)
    return "\n".join(lines)
