"""Make the names of a personal address book unique across users. Pure."""

import re
from dataclasses import replace
from uuid import UUID

from remembrancer.importers.exported_conversations import Transcript

_NUMBER = re.compile(r"\+\d+")


def scoped(transcript: Transcript, user_id: UUID) -> Transcript:
    """Prefix the ids of a personal conversation with the user: "Mum" of two users is two people."""
    if not transcript.personal:
        return transcript

    def scope(name: str) -> str:
        return name if _NUMBER.fullmatch(name) else f"{user_id}:{name}"

    turns = [
        turn
        if turn.platform_user_id is None
        else replace(turn, platform_user_id=scope(turn.platform_user_id))
        for turn in transcript.turns
    ]
    people = {scope(key): name for key, name in transcript.people.items()}
    conversation = f"{user_id}:{transcript.conversation}"
    return replace(transcript, conversation=conversation, turns=turns, people=people)
