"""The assistant of examples/assistant.py with mem0, which stores no messages and has no review."""

import os
import sqlite3

from mem0 import Memory
from openai import OpenAI

history = sqlite3.connect("history.db", autocommit=True)
history.execute("CREATE TABLE IF NOT EXISTS messages (role, content)")


def review(memory):
    for fact in memory.get_all(filters={"user_id": "me:pending"}, top_k=1000)["results"]:
        if input(f"{fact['memory']} Keep it? [y/n] ") == "y":
            memory.add(fact["memory"], user_id="me", infer=False)
        memory.delete(fact["id"])


def chat(memory, model, said):
    known = memory.search(said, filters={"user_id": "me"})["results"]
    facts = "\n".join(item["memory"] for item in known)
    history.execute("INSERT INTO messages VALUES ('user', ?)", (said,))
    window = history.execute("SELECT role, content FROM messages ORDER BY rowid DESC LIMIT 20")
    messages = [{"role": role, "content": content} for role, content in window][::-1]
    messages.insert(0, {"role": "system", "content": f"What you know of the user:\n{facts}"})
    answer = ""
    for chunk in model.chat.completions.create(
        model=os.environ.get("MODEL", "gpt-5-mini"), messages=messages, stream=True
    ):
        piece = chunk.choices[0].delta.content or ""
        answer += piece
        yield piece
    history.execute("INSERT INTO messages VALUES ('assistant', ?)", (answer,))
    turn = [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
    memory.add(turn, user_id="me:pending")


def main():
    memory = Memory()
    with OpenAI() as model:
        while said := input("> "):
            if said == "/review":
                review(memory)
                continue
            for piece in chat(memory, model, said):
                print(piece, end="", flush=True)
            print()


if __name__ == "__main__":
    main()
