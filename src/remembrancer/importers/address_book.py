"""Make the names of people and conversations unique across users. Pure."""

import re
from dataclasses import replace
from uuid import UUID

from remembrancer.importers.exported_conversations import Transcript, Turn, changed, digest

_NUMBER = re.compile(r"\+\d+")


def scoped(transcript: Transcript, user_id: UUID) -> Transcript:
    """Prefix the ids of a personal conversation with the user: "Mum" of two users is two people."""
    if not transcript.personal:
        return transcript

    def scope(name: str) -> str:
        return name if _NUMBER.fullmatch(name) else f"{user_id}:{name}"

    def of_user(turn: Turn) -> Turn:
        key = turn.platform_user_id
        return turn if key is None else replace(turn, platform_user_id=scope(key))

    turns = changed(transcript.turns, of_user)
    people = {scope(key): name for key, name in transcript.people.items()}
    conversation = f"{user_id}:{transcript.conversation}"
    return replace(transcript, conversation=conversation, turns=turns, people=people)


def owned(transcript: Transcript, user_id: UUID) -> Transcript:
    """Return a conversation of nobody but the user, whom its turns name no more.

    Its id is made of the user's, so that it is none of a platform, which others may be in.
    """
    turns = changed(transcript.turns, lambda turn: replace(turn, platform_user_id=None))
    conversation = f"{user_id}:{digest([transcript.conversation])[:32]}"
    return Transcript(transcript.platform, conversation, turns, transcript.title)
