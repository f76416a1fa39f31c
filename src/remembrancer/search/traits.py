"""What a text shows by itself: stored with its item, so that a recall reads no text to find out."""

from typing import Final

from remembrancer.analysis import is_acknowledgement, speech
from remembrancer.guard.instructions import is_instruction

WORDS: Final = 63
FIRST_PERSON, TELLS_TIME, ASKS, ENDS_ASKING, ACKNOWLEDGES, INSTRUCTS = (64 << n for n in range(6))


def traits(text: str) -> int:
    """Return the number of words that are read, at most ``WORDS``, plus a bit for each trait.

    Items that are stored keep theirs: after a change of a trait, a revision stores all anew.
    """
    words, *found = speech(text)
    found += [is_acknowledgement(text), is_instruction(text)]
    return min(words, WORDS) + sum(64 << number for number, has in enumerate(found) if has)
