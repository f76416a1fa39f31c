"""Names from somebody's address book, made into ids that nobody else's address book has. Pure."""

import re
from dataclasses import replace
from uuid import UUID

from remembrancer.importers.exported_conversations import Transcript

_NUMBER = re.compile(r"\+\d+")


def scoped(talk: Transcript, user_id: UUID) -> Transcript:
    """Return a personal conversation with ids that are ``user_id``'s; telephone numbers stay.

    "Mum" in two people's exports is two people.
    """
    if not talk.personal:
        return talk

    def own(name: str) -> str:
        return name if _NUMBER.fullmatch(name) else f"{user_id}:{name}"

    turns = [
        turn
        if turn.platform_user_id is None
        else replace(turn, platform_user_id=own(turn.platform_user_id))
        for turn in talk.turns
    ]
    people = {own(key): name for key, name in talk.people.items()}
    conversation = f"{user_id}:{talk.conversation}"
    return replace(talk, conversation=conversation, turns=turns, people=people)
