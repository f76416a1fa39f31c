"""The text that a Slack application puts into ``attachments`` and ``blocks`` of a message. Pure.

An attachment has ``pretext``, ``title``, ``text`` and ``fields``, or ``blocks``, and ``fallback``
for where none can be shown. The preview of a link is an attachment too, and a message that
somebody shares: what others said elsewhere. Source: docs.slack.dev, "Secondary attachments".
"""

from collections.abc import Iterator, Mapping
from typing import Final

from remembrancer.importers.captions import caption
from remembrancer.importers.parse import Notes

_OTHERS: Final = ("from_url", "original_url", "is_share", "is_msg_unfurl", "is_app_unfurl")
_TEXTS: Final = ("text", "fields", "elements", "title", "alt_text")


def attached(attachments: object, notes: Notes) -> Iterator[str]:
    """Yield what the attachments of a message say, in their order."""
    for item in attachments if isinstance(attachments, list) else ():
        if not isinstance(item, Mapping):
            notes.unknown_field("attachment")
        elif any(item.get(name) for name in _OTHERS):
            notes.skip("preview of a link or shared message")
        else:
            yield "\n".join(_lines(item))


def _lines(item: Mapping[str, object]) -> Iterator[str]:
    shown = [*filter(None, (_string(item, name) for name in ("pretext", "title", "text")))]
    fields = item.get("fields")
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, Mapping):
            title, value = _string(field, "title"), _string(field, "value")
            shown.append(f"{title}: {value}" if title and value else title or value)
    shown += block_texts(item.get("blocks"))
    if item.get("image_url"):
        shown.append(caption("photo"))
    yield from shown or [_string(item, "fallback")]


def _string(item: Mapping[str, object], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def block_texts(blocks: object) -> list[str]:
    """Return the texts of layout blocks, outermost first in their order."""
    texts: list[str] = []
    rest = [blocks]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, list):
            rest.extend(reversed(item))
        elif isinstance(item, Mapping):
            rest.extend(item[name] for name in reversed(_TEXTS) if name in item)
    return [text for text in texts if text.strip()]
