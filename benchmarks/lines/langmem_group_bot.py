"""The group bot of examples/group_bot.py with LangMem: in one process, since it has no server."""

import os
import sys

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.config import get_config, get_store
from langgraph.prebuilt import create_react_agent
from langgraph.store.postgres import PostgresStore
from langmem import create_manage_memory_tool, create_search_memory_tool

DATABASE = os.environ.get("DATABASE_URL", "postgresql://localhost/memory")
INDEX = {"dims": 1536, "embed": "openai:text-embedding-3-small"}


def command(store, user, text):
    word, _, rest = text.removeprefix("/memory").strip().partition(" ")
    namespace = ("memories", user)
    if word == "add":
        store.put(namespace, rest, {"content": rest})
        return ["Remembered."]
    if word == "delete":
        store.delete(namespace, rest)
        return ["Deleted."]
    items = store.search(namespace, query=rest if word == "search" else None, limit=20)
    return [f"[{item.key}] {item.value['content']}" for item in items]


def prompt(state):
    user = get_config()["configurable"]["user_id"]
    query = state["messages"][-1].content
    items = get_store().search(("memories", user), query=query)
    known = [item.value["content"] for item in items]
    system = "\n".join(["You are the helper of this group.", "", f"{user}:", *known])
    return [{"role": "system", "content": system}, *state["messages"][-20:]]


def handle(bot, store, name, text):
    user = name.lower()
    if text.startswith("/memory"):
        print(f"[to {name} alone]", *command(store, user, text), sep="\n")
        return
    message = {"role": "user", "content": f"{name}: {text}"}
    config = {"configurable": {"thread_id": "family", "user_id": user}}
    print(bot.invoke({"messages": [message]}, config)["messages"][-1].content)


if __name__ == "__main__":
    with (
        PostgresStore.from_conn_string(DATABASE, index=INDEX) as memories,
        PostgresSaver.from_conn_string(DATABASE) as checkpointer,
    ):
        memories.setup()
        checkpointer.setup()
        own = ("memories", "{user_id}")
        helper = create_react_agent(
            os.environ.get("MODEL", "openai:gpt-5-mini"),
            prompt=prompt,
            tools=[create_manage_memory_tool(own), create_search_memory_tool(own)],
            store=memories,
            checkpointer=checkpointer,
        )
        for line in sys.stdin:
            speaker, _, said = line.strip().partition(": ")
            handle(helper, memories, speaker, said)
