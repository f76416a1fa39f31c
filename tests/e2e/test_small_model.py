"""The whole way with a real language model on loopback. It is tiny: shape is held, not sense."""

from uuid import UUID

from entry_points import PythonDoor
from helpers import rows
from scripted import minded
from small_model import small_model

from remembrancer import Remembrancer, User, as_actor

SAID_AT = "2023-05-08T12:00:00Z"
"""Fixed, so that the model is asked the same each time and answers the same."""


async def test_what_a_real_model_makes_of_a_message_is_stored_and_recalled(
    memory: Remembrancer, ada: User
) -> None:
    """Its summary is a chunk of the conversation, its facts are Ada's, from what she said."""
    said = "I am allergic to nuts"
    with small_model() as url:
        async with minded(memory, url, max_tokens=600, timeout=300, retries=0) as minds:
            door = PythonDoor(minds, as_actor())
            opened = await door.open(user=ada)
            words = [
                {"content": said, "sent_at": SAID_AT},
                *({"content": "word"} for _ in range(20)),
            ]
            await door.say(opened["id"], words, user=ada)
            done = await door.summarize(opened["id"], user=ada)
            facts = (await door.listed(user=ada))["memories"]
            [chunk] = (await door.chunks(opened["id"], user=ada))["items"]
            hits = (await door.recall(chunk["content"], user=ada, sources=["chunk"]))["hits"]
    assert (done["summarised_to"], done["chunks"]) == (1, 1)
    assert hits[0]["id"] == chunk["id"]
    assert "nuts" in chunk["content"]
    assert done["facts"] == len(facts) >= 1
    [(message,)] = rows("SELECT id FROM messages WHERE content = %s", said)
    for fact in facts:
        assert (fact["user_id"], fact["source"]) == (str(ada.id), "extraction")
        assert UUID(fact["message_id"]) == message
