"""A LlamaIndex agent whose memory is a conversation.

    pip install 'remembrancer[llama-index]' llama-index-llms-openai
    OPENAI_API_KEY=… python examples/frameworks/llama_index_agent.py "I am allergic to peanuts."
    OPENAI_API_KEY=… python examples/frameworks/llama_index_agent.py "What should I not eat?"

Each start is a new conversation. LlamaIndex reports nothing unless it is instrumented.
"""

import asyncio
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms.function_calling import FunctionCallingLLM

from remembrancer import Actor, ConversationCreate, Remembrancer, ResolveUser, as_actor
from remembrancer.adapters.llama_index import RemembrancerMemory


async def answer(memory: Remembrancer, actor: Actor, model: FunctionCallingLLM, text: str) -> str:
    """Answer in a new conversation of the actor."""
    talk = await memory.conversations.open(actor, ConversationCreate(agent_id=actor.agent_id))
    agent = FunctionAgent(llm=model, tools=[], system_prompt="You are helpful.")
    return str(await agent.run(text, memory=RemembrancerMemory(memory, actor, talk.id)))


async def main() -> None:
    """Answer what the command line says, for one user."""
    from llama_index.llms.openai import OpenAI  # noqa: PLC0415  another package, for your model

    async with Remembrancer.open("./memory") as memory:
        who = ResolveUser(platform="console", platform_user_id="me", display_name="Me")
        actor = as_actor(await memory.users.resolve(as_actor(), who))
        text = " ".join(sys.argv[1:]) or "What do you know about me?"
        print(await answer(memory, actor, OpenAI(model="gpt-5-mini"), text))


if __name__ == "__main__":
    asyncio.run(main())
