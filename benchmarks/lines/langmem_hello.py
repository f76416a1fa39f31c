"""Hello with LangMem's store. It wants a Postgres, and a key of OpenAI for embeddings."""

from langgraph.store.postgres import PostgresStore

INDEX = {"dims": 1536, "embed": "openai:text-embedding-3-small"}
with PostgresStore.from_conn_string("postgresql://localhost/memory", index=INDEX) as store:
    store.setup()
    store.put(("memories", "ada"), "tea", {"content": "I drink tea, never coffee."})
    print(store.search(("memories", "ada"), query="What does Ada drink?"))
