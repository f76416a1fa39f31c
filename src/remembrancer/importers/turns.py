"""From what an export says to turns that can be stored: one id each, none too long. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from remembrancer.conversations.schemas import MessageRole
from remembrancer.importers.exported_conversations import Transcript, Turn, transcript
from remembrancer.importers.parse import Notes, Options, in_years

_KEY = 255


def conversation(
    platform: str,
    key: str,
    turns: Iterable[Turn],
    notes: Notes,
    options: Options,
    *,
    title: str = "",
    personal: bool = False,
) -> Iterator[Transcript]:
    """Yield the conversation, unless there is nothing to store of it.

    A message that is there twice is taken once, one without words not at all.
    """
    said = list(_storable(turns, notes, options.longest))
    if not said:
        notes.skip("conversation without messages")
    elif all(turn.role is not MessageRole.USER for turn in said):
        notes.skip("conversation in which no person speaks")
    else:
        yield transcript(platform, key[:_KEY], said, title=title, personal=personal)


def _storable(turns: Iterable[Turn], notes: Notes, longest: int) -> Iterator[Turn]:
    seen: set[str] = set()
    for turn in turns:
        if not any(c.isprintable() and not c.isspace() for c in turn.content):
            notes.skip("message without text")
            continue
        if turn.message_id is not None:
            if turn.message_id in seen:
                notes.skip("message that is there twice")
                continue
            seen.add(turn.message_id)
        if turn.sent_at is not None and not in_years(turn.sent_at):
            turn = replace(turn, sent_at=None)  # noqa: PLW2901 - the same, without its time
        yield from _parts(turn, longest)


def _parts(turn: Turn, longest: int) -> Iterator[Turn]:
    if len(turn.content) <= longest:
        yield turn
        return
    for number, part in enumerate(split(turn.content, longest), 1):
        named = turn.message_id
        message_id = f"{named}-{number}" if named and number > 1 else named
        yield replace(turn, content=part, message_id=message_id)


def split(text: str, longest: int) -> Sequence[str]:
    """Return ``text`` in parts of at most ``longest`` characters, cut between words if possible."""
    parts = []
    rest = text
    while len(rest) > longest:
        at = max(rest.rfind(gap, longest // 2, longest) for gap in ("\n", " "))
        at = longest if at < 0 else at
        parts.append(rest[:at].strip())
        rest = rest[at:].strip()
    return [part for part in (*parts, rest) if part]
