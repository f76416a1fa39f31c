"""Make the turns of an export storable: unique ids, no empty ones, none too long."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.exported_conversations import Transcript, Turn, to_transcript
from remembrancer.importers.options import Options
from remembrancer.importers.parse import Notes, in_years
from remembrancer.importers.spool import Spool
from remembrancer.importers.tally import Tally
from remembrancer.text import is_blank

_LONGEST_KEY = 255


def storable(
    platform: str,
    key: str | Callable[[Collection[Turn]], str],
    turns: Iterable[Turn],
    notes: Notes,
    options: Options,
    *,
    title: str = "",
    personal: bool = False,
) -> Iterator[Transcript]:
    """Yield the conversation, unless it has nothing to store; skip repeated messages.

    ``key`` may depend on the turns.
    """
    with Spool() as spool:
        held = spool.hold(_storable_turns(turns, notes, options.longest))
        if not held:
            notes.skip("conversation without messages")
        elif all(turn.role is not MessageRole.USER for turn in held):
            notes.skip("conversation without a person's message")
        else:
            key = key if isinstance(key, str) else key(held)
            yield to_transcript(platform, key[:_LONGEST_KEY], held, title=title, personal=personal)


def _storable_turns(turns: Iterable[Turn], notes: Notes, longest: int) -> Iterator[Turn]:
    ids = Tally()
    for turn in turns:
        notes.read += 1
        if is_blank(turn.content):
            notes.skip("message without text")
            continue
        if turn.message_id is not None and ids.add(turn.message_id) > 1:
            notes.skip("repeated message")
            continue
        has_valid_time = turn.sent_at is None or in_years(turn.sent_at)
        yield from _parts(turn if has_valid_time else replace(turn, sent_at=None), longest)


def _parts(turn: Turn, longest: int) -> Iterator[Turn]:
    if len(turn.content) <= longest:
        yield turn
        return
    for number, part in enumerate(split(turn.content, longest), 1):
        key = turn.message_id
        if key and number > 1:
            key = f"{key[: _LONGEST_KEY - 8]}-{number}"
        yield replace(turn, content=part, message_id=key)


def split(text: str, longest: int) -> Sequence[str]:
    """Return ``text`` in parts of at most ``longest`` characters, cut between words if possible."""
    trimmed = len(text.rstrip())
    parts, at, end = [], 0, len(text)
    while end - at > longest:
        cut = max(text.rfind(gap, at + longest // 2, at + longest) for gap in ("\n", " "))
        cut = at + longest if cut < 0 else cut
        parts.append(text[at:cut].strip())
        at, end = cut, trimmed
        while at < end and text[at].isspace():
            at += 1
    return [part for part in (*parts, text[at:end]) if part]
