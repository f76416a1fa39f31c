"""What a monitor reads: /metrics."""

from helpers import Api
from prometheus_client.parser import text_string_to_metric_families

from remembrancer import ConversationCreate, MessageCreate, Remembrancer, User, as_actor


async def figures(api: Api) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = await api.client.get("/metrics", headers=api.admin)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_requests_are_counted_by_route_and_never_by_what_is_in_them(
    api: Api, ada: User
) -> None:
    """The label is the route as documented; ids, queries and wrong paths are in none."""
    count, recall = "remembrancer_request_seconds_count", ("POST", "/api/memory/recall", "200")
    before = (await figures(api)).get((count, recall), 0)
    said = {"query": "zebra", "user_id": str(ada.id)}
    await api.client.post("/api/memory/recall", json=said, headers=api.service)
    await api.client.get("/api/memory/zebra777", headers=api.service)
    await api.client.get("/zebra", headers=api.service)
    await api.client.request("ZEBRA", "/healthz")
    found = await figures(api)
    assert found[count, recall] == before + 1
    assert sum(found[key] for key in found if key[0] == count and key[1][1] == "none") >= 1
    assert not [key for key in found if "zebra" in str(key).casefold() or str(ada.id) in str(key)]
    assert any(name == "process_resident_memory_bytes" for name, _ in found)


async def test_jobs_are_counted_by_state(api: Api, memory: Remembrancer, ada: User) -> None:
    """A conversation that is due is one queued job."""
    opened = await memory.conversations.open(as_actor(ada), ConversationCreate())
    said = [MessageCreate(content=f"line {n}") for n in range(31)]
    await memory.conversations.append(as_actor(ada), opened.id, said)
    found = await figures(api)
    assert found["remembrancer_jobs", ("queued",)] == 1
    assert found["remembrancer_jobs", ("failed",)] == 0
    assert found["remembrancer_oldest_job_seconds", ()] > 0


async def test_only_an_admin_reads_figures(api: Api) -> None:
    """Others are refused, and whoever has no key."""
    assert (await api.client.get("/metrics", headers=api.service)).status_code == 403
    assert (await api.client.get("/metrics")).status_code == 401
