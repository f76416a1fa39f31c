"""A bot for a group, over REST alone, with /memory. Any language can do the same.

    pip install httpx2
    export REMEMBRANCER_KEY=…   # remembrancer keys create "group bot"
    export OPENAI_API_KEY=…     # or OPENAI_BASE_URL of a local model
    python examples/group_bot.py

It reads one message a line, such as "Ada: Shall we eat on Friday?", until the input ends.
"""

import os
import sys
from typing import Any

import httpx2


def client(url: str, key: str) -> httpx2.Client:
    """Return a client that sends a key with every request."""
    return httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120)


memory = client(
    os.environ.get("REMEMBRANCER_URL", "http://127.0.0.1:8420"), os.environ["REMEMBRANCER_KEY"]
)
model = client(
    os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1"), os.environ["OPENAI_API_KEY"]
)


def post(server: httpx2.Client, path: str, **body: Any) -> Any:
    """Send a request and return its answer."""
    answer = server.post(path, json=body)
    if answer.is_error:
        sys.exit(f"{answer.url} answered {answer.status_code}: {answer.text}")
    return answer.json()


def handle(bot: str, name: str, text: str) -> None:
    """Answer one message of the group: a command to its sender alone, all else to everybody."""
    sender = {"platform": "console", "platform_user_id": name.lower(), "display_name": name}
    command = post(
        memory, "/api/chat/commands", **sender, chat_id="family", text=text, agent_id=bot
    )
    if command["is_command"]:
        print(f"[to {name} alone]", *command["private"], sep="\n")
        return
    user = post(memory, "/api/users/resolve", **sender)["id"]
    chat = post(
        memory,
        "/api/conversations",
        user_id=user,
        agent_id=bot,
        platform="console",
        platform_conversation_id="family",
    )
    path = f"/api/conversations/{chat['id']}"
    turn = post(memory, f"{path}/turn", user_id=user, message={"content": text})
    system = "You are the helper of this group.\n\n" + turn["context"]["stable"]["text"]
    messages = [{"role": "system", "content": system}]
    for said in turn["messages"]:
        speaker = f"{said['sender_name']}: " if said["role"] == "user" else ""
        messages.append({"role": said["role"], "content": speaker + said["content"]})
    messages[-1]["content"] = turn["context"]["dynamic"]["text"] + "\n" + messages[-1]["content"]
    name_of_model = os.environ.get("MODEL", "gpt-5-mini")
    reply = post(model, "chat/completions", model=name_of_model, messages=messages)
    answer = reply["choices"][0]["message"]["content"]
    post(memory, f"{path}/answer", user_id=user, content=answer)
    print(answer)


if __name__ == "__main__":
    helper = post(memory, "/api/agents/resolve", name="Helper")["id"]
    for line in sys.stdin:
        speaker, _, said = line.strip().partition(": ")
        if speaker and said:
            handle(helper, speaker, said)
        else:
            print('Write who says what, such as "Ada: Hello".', file=sys.stderr)
