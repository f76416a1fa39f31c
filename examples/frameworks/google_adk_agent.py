"""An agent of Google's ADK that is told what was said in earlier sessions.

    pip install 'remembrancer[google-adk]'
    GOOGLE_API_KEY=… python examples/frameworks/google_adk_agent.py "I am allergic to peanuts."
    GOOGLE_API_KEY=… python examples/frameworks/google_adk_agent.py "What should I not eat?"

Each start is a new session. ADK reports nothing unless OpenTelemetry is set up.
"""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import preload_memory
from google.genai import types

from remembrancer import Remembrancer
from remembrancer.adapters.google_adk import RemembrancerMemoryService

MODEL = os.environ.get("MODEL", "gemini-2.5-flash")


def build(memory: Remembrancer, model: str | BaseLlm = MODEL) -> Runner:
    """Return the runner: one for everybody; the user id of a session says whose memory it has."""
    return Runner(
        app_name="kitchen",
        agent=LlmAgent(name="helper", model=model, tools=[preload_memory]),
        session_service=InMemorySessionService(),
        memory_service=RemembrancerMemoryService(memory),
    )


async def answer(runner: Runner, user_id: str, text: str) -> str:
    """Answer in a new session, and add the session to the memory."""
    sessions, memory = runner.session_service, runner.memory_service
    session = await sessions.create_session(app_name=runner.app_name, user_id=user_id)
    message = types.Content(role="user", parts=[types.Part(text=text)])
    said = ""
    async for event in runner.run_async(
        user_id=user_id, session_id=session.id, new_message=message
    ):
        for part in (event.content and event.content.parts) or []:
            said = part.text or said
    ended = await sessions.get_session(
        app_name=runner.app_name, user_id=user_id, session_id=session.id
    )
    assert memory is not None
    assert ended is not None
    await memory.add_session_to_memory(ended)
    return said


async def main() -> None:
    """Answer what the command line says, for one user."""
    async with Remembrancer.open("./memory") as memory:
        text = " ".join(sys.argv[1:]) or "What do you know about me?"
        print(await answer(build(memory), "me", text))


if __name__ == "__main__":
    asyncio.run(main())
