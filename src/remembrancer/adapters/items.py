"""Messages of other frameworks as messages of a conversation, and back. Pure."""

import json
from collections.abc import Callable
from typing import Any, Final

from remembrancer.conversations.schemas import Message, MessageCreate, MessageRole
from remembrancer.text import is_blank, storable_json
from remembrancer.validation import validate

Item = dict[str, Any]
"""A message as JSON: a role, and parts under the name that its framework uses."""

_WHOLE: Final = "content"
"""The metadata value if the content is the whole item as JSON."""
_NO_TEXT: Final = "(something without text)"
_SPOKEN: Final = (MessageRole.USER, MessageRole.ASSISTANT)


class MessageForm:
    """The form of a framework's messages.

    ``parts`` is the name of the parts in an item, ``key`` that of an item in the metadata of a
    message, and ``is_text`` says whether a part is text that was said.
    """

    def __init__(self, parts: str, key: str, is_text: Callable[[Item], bool]) -> None:
        self._parts = parts
        self._key = key
        self._is_text = is_text

    def text(self, item: Item) -> str:
        """Return what was said in an item."""
        return "\n".join(part["text"] for part in item[self._parts] if self._is_text(part))

    def message(self, item: Item) -> MessageCreate:
        """Return an item as a message: its text as the content, or all of it as a tool message.

        What is around the text is left out if it is too large for metadata, such as a picture.
        """
        text = self.text(item)
        parts = [part for part in item[self._parts] if not self._is_text(part)]
        metadata: Item = {self._key: {**item, self._parts: parts}}
        if not _fits(metadata):
            metadata = {}
            if item["role"] == MessageRole.USER and is_blank(text):
                text = _NO_TEXT
        if item["role"] not in _SPOKEN or is_blank(text):
            return validate(
                MessageCreate,
                role=MessageRole.TOOL,
                content=json.dumps(item, ensure_ascii=False),
                metadata={self._key: _WHOLE},
            )
        return validate(MessageCreate, role=item["role"], content=text, metadata=metadata)

    def item(self, message: Message, text_part: Item) -> Item | None:
        """Return a message as an item, the text first; null for one that is not for the model.

        ``text_part`` is a part without its text.
        """
        rest = message.metadata.get(self._key)
        if rest == _WHOLE:
            return _parsed(message.content)
        if message.role not in _SPOKEN:
            return None
        item = rest if isinstance(rest, dict) else {"role": message.role.value, self._parts: []}
        return {**item, self._parts: [{**text_part, "text": message.content}, *item[self._parts]]}


def _fits(metadata: Item) -> bool:
    try:
        storable_json(metadata)
    except ValueError:
        return False
    return True


def _parsed(content: str) -> Item | None:
    """Return an item; null if redaction broke its JSON."""
    try:
        item = json.loads(content)
    except ValueError:
        return None
    return item if isinstance(item, dict) else None
