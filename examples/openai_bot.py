"""A bot that remembers, with OpenAI's client or any endpoint that speaks its protocol.

    pip install remembrancer openai
    OPENAI_API_KEY=… python examples/openai_bot.py ada "I am allergic to peanuts."
    OPENAI_API_KEY=… python examples/openai_bot.py ada "What should I not eat?"

Each user has a chat of their own with the bot, which goes on at the next start. For a group, pass
its name as ``chat``: everybody in it hears each other there, and nothing of anybody's other chats.
"""

import asyncio
import os
import sys

from openai import AsyncOpenAI

from remembrancer import AsyncMemory

MODEL = os.environ.get("MODEL", "gpt-5-mini")


async def reply(memory: AsyncMemory, user: str, said: str, chat: str | None = None) -> str:
    """Answer a message. The model looks up and remembers by itself; both texts are stored."""
    async with (
        AsyncOpenAI() as client,
        memory.turn(said, user=user, agent="Helper", chat=chat) as turn,
    ):
        return await turn.complete(client, model=MODEL)


async def main() -> None:
    """Answer what the command line says."""
    async with AsyncMemory("./memory") as memory:
        print(await reply(memory, sys.argv[1], " ".join(sys.argv[2:])))


if __name__ == "__main__":
    asyncio.run(main())
