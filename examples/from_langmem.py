"""Copy the memories of LangMem, or of any LangGraph store, into Remembrancer. Safe to repeat.

    pip install 'remembrancer[langgraph]'
    python examples/from_langmem.py my_agent:store

``my_agent:store`` is the store in a module of yours. Its namespaces are ("memories", user).
"""

import sys
from collections.abc import Mapping
from importlib import import_module

from langgraph.store.base import BaseStore

from remembrancer import Memory


def copy(store: BaseStore, memory: Memory, agent: str = "Assistant") -> int:
    """Copy what is below "memories" for an agent, and return how many memories are new."""
    created = 0
    for namespace in store.list_namespaces(prefix=("memories",), limit=100_000):
        for item in store.search(namespace, limit=100_000):
            content = item.value["content"]
            if isinstance(content, Mapping):  # of a memory manager
                content = content["content"]
            stored = memory.remember(content, user=namespace[1], agent=agent, allow_similar=True)
            created += stored.outcome == "created"
    return created


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    with Memory("./memory") as memory:
        print(copy(getattr(import_module(module), name), memory), "memories are new")
