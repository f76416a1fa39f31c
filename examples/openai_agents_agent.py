"""An agent of OpenAI's Agents SDK whose sessions are conversations, and who remembers.

    pip install 'remembrancer[openai-agents]'
    OPENAI_API_KEY=… python examples/openai_agents_agent.py "I am allergic to peanuts."
    OPENAI_API_KEY=… python examples/openai_agents_agent.py "What should I not eat?"

Each start is a new session. The SDK's tracing, which reports every run to OpenAI, is off here.
"""

import asyncio
import os
import sys
from uuid import UUID

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

from remembrancer import Actor, ConversationCreate, Remembrancer, ResolveUser, as_actor
from remembrancer.adapters.openai_agents import RemembrancerSession, memory_tools, with_memory

MODEL = os.environ.get("MODEL", "gpt-5-mini")

set_tracing_disabled(True)


async def reply(memory: Remembrancer, actor: Actor, conversation_id: UUID, said: str) -> str:
    """Answer in a session: the conversation so far, what is known, and tools to remember by."""
    async with AsyncOpenAI() as client:
        agent = Agent(
            name="Helper",
            instructions=with_memory(
                memory, actor, "You are helpful.", conversation_id=conversation_id
            ),
            tools=list(memory_tools(memory, actor, conversation_id=conversation_id)),
            model=OpenAIChatCompletionsModel(MODEL, client),
        )
        session = RemembrancerSession(memory, actor, conversation_id)
        result = await Runner.run(agent, said, session=session)
    return str(result.final_output)


async def main() -> None:
    """Answer what the command line says, for one user."""
    async with Remembrancer.open("./memory") as memory:
        who = ResolveUser(platform="console", platform_user_id="me", display_name="Me")
        actor = as_actor(await memory.users.resolve(as_actor(), who))
        talk = await memory.conversations.open(actor, ConversationCreate())
        said = " ".join(sys.argv[1:]) or "What do you know about me?"
        print(await reply(memory, actor, talk.id, said))


if __name__ == "__main__":
    asyncio.run(main())
