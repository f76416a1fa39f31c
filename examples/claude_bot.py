"""A bot that remembers, with Anthropic's client, and without async.

    pip install 'remembrancer[anthropic]'
    ANTHROPIC_API_KEY=… python examples/claude_bot.py ada "I am allergic to peanuts."
    ANTHROPIC_API_KEY=… python examples/claude_bot.py ada "What should I not eat?"

The system part stays the same during a chat, and is marked for the provider's cache.
"""

import os
import sys

from anthropic import Anthropic

from remembrancer import Memory

MODEL = os.environ.get("MODEL", "claude-sonnet-5-5")


def reply(memory: Memory, user: str, said: str) -> str:
    """Answer a message from what is known of the user; both texts are stored."""
    with Anthropic() as client, memory.turn(said, user=user, agent="Helper") as turn:
        prompt = turn.anthropic
        message = client.messages.create(
            model=MODEL, max_tokens=1024, system=prompt["system"], messages=prompt["messages"]
        )
        answer = "".join(block.text for block in message.content if block.type == "text")
        turn.answer(answer)
        return answer


if __name__ == "__main__":
    with Memory("./memory") as memory:
        print(reply(memory, sys.argv[1], " ".join(sys.argv[2:])))
