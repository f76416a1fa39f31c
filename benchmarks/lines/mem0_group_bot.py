"""The group bot of examples/group_bot.py with mem0's server, which stores no messages."""

import os
import sqlite3
import sys

import httpx


def client(url, key):
    return httpx.Client(base_url=url, headers=key, timeout=120)


memory = client(
    os.environ.get("MEM0_URL", "http://127.0.0.1:8888"), {"X-API-Key": os.environ["MEM0_KEY"]}
)
model = client(
    os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
)
history = sqlite3.connect("history.db", autocommit=True)
history.execute("CREATE TABLE IF NOT EXISTS messages (chat, role, content)")


def send(server, method, path, **options):
    return server.request(method, path, **options).raise_for_status().json()


def stored(user):
    return send(memory, "GET", "/memories", params={"user_id": user})["results"]


def found(user, query):
    body = {"query": query, "filters": {"user_id": user}}
    return send(memory, "POST", "/search", json=body)["results"]


def command(user, text):
    word, _, rest = text.removeprefix("/memory").strip().partition(" ")
    if word == "add":
        body = {
            "messages": [{"role": "user", "content": rest}],
            "user_id": user,
            "infer": False,
        }
        send(memory, "POST", "/memories", json=body)
        return ["Remembered."]
    if word == "delete":
        if rest not in {item["id"] for item in stored(user)}:
            return ["There is no such memory."]
        send(memory, "DELETE", f"/memories/{rest}")
        return ["Deleted."]
    items = found(user, rest) if word == "search" else stored(user)
    return [f"[{item['id']}] {item['memory']}" for item in items]


def handle(name, text):
    user = f"console:{name.lower()}"
    if text.startswith("/memory"):
        print(f"[to {name} alone]", *command(user, text), sep="\n")
        return
    known = "\n".join(item["memory"] for item in found(user, text))
    system = f"You are the helper of this group.\n\n{name}:\n{known}"
    insert = "INSERT INTO messages VALUES ('family', ?, ?)"
    history.execute(insert, ("user", f"{name}: {text}"))
    window = history.execute(
        "SELECT role, content FROM messages WHERE chat = 'family' ORDER BY rowid DESC LIMIT 20"
    )
    messages = [{"role": role, "content": content} for role, content in window][::-1]
    messages.insert(0, {"role": "system", "content": system})
    body = {"model": os.environ.get("MODEL", "gpt-5-mini"), "messages": messages}
    reply = send(model, "POST", "chat/completions", json=body)
    answer = reply["choices"][0]["message"]["content"]
    history.execute(insert, ("assistant", answer))
    turn = [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
    send(memory, "POST", "/memories", json={"messages": turn, "user_id": user})
    print(answer)


if __name__ == "__main__":
    for line in sys.stdin:
        speaker, _, said = line.strip().partition(": ")
        handle(speaker, said)
