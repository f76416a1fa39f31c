"""The assistant of examples/assistant.py with LangMem, which summarises and has no review."""

import os

from langchain.chat_models import init_chat_model
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.prebuilt import create_react_agent
from langgraph.prebuilt.chat_agent_executor import AgentState
from langgraph.store.postgres import PostgresStore
from langmem import create_memory_store_manager, create_search_memory_tool
from langmem.short_term import RunningSummary, SummarizationNode

DATABASE = os.environ.get("DATABASE_URL", "postgresql://localhost/memory")
INDEX = {"dims": 1536, "embed": "openai:text-embedding-3-small"}
CONFIG = {"configurable": {"thread_id": "me"}}


class State(AgentState):
    context: dict[str, RunningSummary]


def review(store):
    for fact in store.search(("pending",), limit=1000):
        if input(f"{fact.value['content']['content']} Keep it? [y/n] ") == "y":
            store.put(("memories",), fact.key, fact.value)
        store.delete(fact.namespace, fact.key)


def main():
    model = init_chat_model(os.environ.get("MODEL", "openai:gpt-5-mini"))
    with (
        PostgresStore.from_conn_string(DATABASE, index=INDEX) as store,
        PostgresSaver.from_conn_string(DATABASE) as checkpointer,
    ):
        store.setup()
        checkpointer.setup()
        manager = create_memory_store_manager(model, namespace=("pending",), store=store)
        summarization = SummarizationNode(
            model=model,
            token_counter=count_tokens_approximately,
            max_tokens=3000,
            max_summary_tokens=500,
            output_messages_key="llm_input_messages",
        )
        assistant = create_react_agent(
            model,
            tools=[create_search_memory_tool(("memories",))],
            pre_model_hook=summarization,
            state_schema=State,
            store=store,
            checkpointer=checkpointer,
        )
        while said := input("> "):
            if said == "/review":
                review(store)
                continue
            turn = {"messages": [{"role": "user", "content": said}]}
            for piece, _ in assistant.stream(turn, CONFIG, stream_mode="messages"):
                print(piece.content, end="", flush=True)
            print()
            manager.invoke(turn)


if __name__ == "__main__":
    main()
