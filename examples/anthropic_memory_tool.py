"""Claude with its memory tool, whose files are memories of one user.

    pip install 'remembrancer[anthropic]'
    ANTHROPIC_API_KEY=… python examples/anthropic_memory_tool.py "I am allergic to peanuts."
    ANTHROPIC_API_KEY=… python examples/anthropic_memory_tool.py "What should I not eat?"

Each start is a new conversation.
"""

import asyncio
import os
import sys

from anthropic import AsyncAnthropic

from remembrancer import Actor, Remembrancer, ResolveUser, as_actor
from remembrancer.adapters.anthropic import RemembrancerMemoryTool

MODEL = os.environ.get("MODEL", "claude-sonnet-5-5")


async def reply(memory: Remembrancer, actor: Actor, said: str) -> str:
    """Answer; Claude looks into its files first, and writes down what it learns."""
    async with AsyncAnthropic() as client:
        runner = client.beta.messages.tool_runner(
            model=MODEL,
            max_tokens=1024,
            tools=[RemembrancerMemoryTool(memory, actor)],
            messages=[{"role": "user", "content": said}],
            betas=["context-management-2025-06-27"],
        )
        last = await runner.until_done()
    return "".join(block.text for block in last.content if block.type == "text")


async def main() -> None:
    """Answer what the command line says, for one user."""
    async with Remembrancer.open("./memory") as memory:
        who = ResolveUser(platform="console", platform_user_id="me", display_name="Me")
        actor = as_actor(await memory.users.resolve(as_actor(), who))
        said = " ".join(sys.argv[1:]) or "What do you know about me?"
        print(await reply(memory, actor, said))


if __name__ == "__main__":
    asyncio.run(main())
