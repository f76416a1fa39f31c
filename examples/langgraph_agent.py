"""A LangGraph agent that remembers without a checkpointer.

    pip install 'remembrancer[langgraph]'
    OPENAI_API_KEY=… python examples/langgraph_agent.py "I am allergic to peanuts."
    OPENAI_API_KEY=… python examples/langgraph_agent.py "What should I not eat?"

Each start is a new conversation. Any endpoint that speaks OpenAI's protocol will do
(OPENAI_BASE_URL). LangSmith is told of runs only where LANGSMITH_TRACING is set.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict
from uuid import uuid4

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime, get_runtime
from openai import AsyncOpenAI

from remembrancer import Actor, Remembrancer, ResolveUser, as_actor
from remembrancer.adapters.langgraph import RemembrancerStore

MODEL = os.environ.get("MODEL", "gpt-5-mini")


class State(TypedDict):
    """One question and its answer."""

    said: str
    answer: NotRequired[str]


@dataclass
class Talk:
    """Who is talking; LangGraph calls this the context of a run."""

    actor: Actor


async def answer(state: State, runtime: Runtime[Talk]) -> dict[str, str]:
    """Look up what helps, and ask the model."""
    assert runtime.store is not None
    known = await runtime.store.asearch(("said",), query=state["said"], limit=5)
    lines = "\n".join(f"- {item.value['text']}" for item in known) or "- nothing yet"
    async with AsyncOpenAI() as client:
        completion = await client.chat.completions.create(
            model=MODEL,
            messages=[
                {"role": "system", "content": f"What this user has said before:\n{lines}"},
                {"role": "user", "content": state["said"]},
            ],
        )
    return {"answer": completion.choices[0].message.content or ""}


async def remember(state: State, runtime: Runtime[Talk]) -> dict[str, str]:
    """Keep what the user said."""
    assert runtime.store is not None
    await runtime.store.aput(("said",), str(uuid4()), {"text": state["said"]})
    return {}


def build(memory: Remembrancer) -> Any:
    """Return the agent: one graph for everybody, each run with the memory of its user."""
    graph = StateGraph(State, context_schema=Talk)
    graph.add_node("answer", answer)
    graph.add_node("remember", remember)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "remember")
    graph.add_edge("remember", END)
    store = RemembrancerStore(memory, lambda: get_runtime(Talk).context.actor)
    return graph.compile(store=store)


async def main() -> None:
    """Answer what the command line says, for one user."""
    async with Remembrancer.open("./memory") as memory:
        who = ResolveUser(platform="console", platform_user_id="me", display_name="Me")
        user = await memory.users.resolve(as_actor(), who)
        said = " ".join(sys.argv[1:]) or "What do you know about me?"
        end = await build(memory).ainvoke({"said": said}, context=Talk(as_actor(user)))
        print(end["answer"])


if __name__ == "__main__":
    asyncio.run(main())
