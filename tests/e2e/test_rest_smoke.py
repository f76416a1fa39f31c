from helpers import Api

from remembrancer import Agent, User


async def test_a_memory_goes_in_and_comes_back(
    api: Api, ada: User, bob: User, agent: Agent
) -> None:
    """What is remembered for one user is recalled for them and for nobody else."""
    body = {
        "content": "Ada prefers tea over coffee.",
        "user_id": str(ada.id),
        "agent_id": str(agent.id),
    }
    made = await api.client.post("/api/memory/", json=body, headers=api.service)
    assert made.status_code == 201, made.text
    assert made.json()["scope"] == "agent"
    again = await api.client.post("/api/memory/", json=body, headers=api.service)
    assert again.status_code == 200, again.text
    assert again.json()["memory"]["mention_count"] == 2
    for user, count in ((ada, 1), (bob, 0)):
        ask = {"query": "What does Ada drink?", "user_id": str(user.id), "agent_id": str(agent.id)}
        answer = await api.client.post("/api/memory/recall", json=ask, headers=api.service)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["hits"]) == count
    memory_id = made.json()["memory"]["id"]
    put = await api.client.put(
        f"/api/memory/{memory_id}?user_id={ada.id}",
        json={"content": "Ada prefers coffee now."},
        headers={**api.service, "If-Match": '"1"'},
    )
    assert put.status_code == 200, put.text
    got = await api.client.get(f"/api/memory/{memory_id}?user_id={ada.id}", headers=api.service)
    assert [v["content"] for v in got.json()["versions"]] == [
        "Ada prefers tea over coffee.",
        "Ada prefers coffee now.",
    ]
    listed = await api.client.get(f"/api/memory/?user_id={ada.id}", headers=api.service)
    assert listed.json()["total"] == 1, listed.text
    gone = await api.client.delete(f"/api/memory/{memory_id}?user_id={ada.id}", headers=api.service)
    assert gone.status_code == 200
    assert (
        await api.client.get(f"/api/memory/{memory_id}?user_id={ada.id}", headers=api.service)
    ).status_code == 404
    back = await api.client.post(
        f"/api/memory/{memory_id}/restore?user_id={ada.id}", headers=api.service
    )
    assert back.status_code == 200, back.text
    conv = await api.client.post(
        "/api/conversations",
        json={"user_id": str(ada.id), "agent_id": str(agent.id)},
        headers=api.service,
    )
    assert conv.status_code == 201, conv.text
    cid = conv.json()["id"]
    said = [{"content": "I moved to Lisbon."}, {"role": "assistant", "content": "How nice!"}]
    sent, twice = [
        await api.client.post(
            f"/api/conversations/{cid}/messages",
            json={"user_id": str(ada.id), "messages": said},
            headers={**api.service, "Idempotency-Key": "k"},
        )
        for _ in range(2)
    ]
    assert sent.status_code == 201, sent.text
    assert twice.json() == sent.json()
    window = await api.client.get(
        f"/api/conversations/{cid}/messages?user_id={ada.id}", headers=await api.key_of(ada)
    )
    assert [m["content"] for m in window.json()["items"]] == [
        "I moved to Lisbon.",
        "How nice!",
    ], window.text
