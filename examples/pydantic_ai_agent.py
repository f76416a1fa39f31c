"""A pydantic-ai agent that is told what is known, and whose turns are remembered.

    pip install 'remembrancer[llm]'
    OPENAI_API_KEY=… python examples/pydantic_ai_agent.py "I am allergic to peanuts."
    OPENAI_API_KEY=… python examples/pydantic_ai_agent.py "What should I not eat?"

Each start is a new conversation. Pydantic-ai reports nothing unless it is instrumented.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from uuid import UUID

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from remembrancer import Actor, ConversationCreate, Remembrancer, ResolveUser, as_actor
from remembrancer.adapters.pydantic_ai import MemoryCapability

MODEL = os.environ.get("MODEL", "gpt-5-mini")


@dataclass
class Talk:
    """Who is talking, and where; pydantic-ai calls this the dependencies of a run."""

    actor: Actor
    conversation_id: UUID


def build(memory: Remembrancer, client: AsyncOpenAI) -> Agent[Talk, str]:
    """Return the agent: one for everybody, each run with the memory of its user."""
    remembering = MemoryCapability(
        memory,
        actor=lambda ctx: ctx.deps.actor,
        conversation=lambda ctx: ctx.deps.conversation_id,
    )
    return Agent(
        OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client)),
        deps_type=Talk,
        instructions="You are helpful.",
        capabilities=[remembering],
    )


async def main() -> None:
    """Answer what the command line says, for one user."""
    async with Remembrancer.open("./memory") as memory:
        who = ResolveUser(platform="console", platform_user_id="me", display_name="Me")
        actor = as_actor(await memory.users.resolve(as_actor(), who))
        talk = await memory.conversations.open(actor, ConversationCreate())
        said = " ".join(sys.argv[1:]) or "What do you know about me?"
        async with AsyncOpenAI() as client:
            result = await build(memory, client).run(said, deps=Talk(actor, talk.id))
        print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
