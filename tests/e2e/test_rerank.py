"""Recall with a rerank endpoint: a real HTTP server on loopback that speaks each API."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from endpoint import Answer, Endpoint, listening
from entry_points import Door, PythonDoor, RestDoor
from helpers import Api
from pydantic import HttpUrl, SecretStr, ValidationError

from remembrancer import Remembrancer, User, as_actor
from remembrancer.api import create_app
from remembrancer.errors import ConfigurationError
from remembrancer.recall import create_reranker
from remembrancer.recall.rerank import MAX_CHARACTERS
from remembrancer.settings import RerankSettings

QUESTION = "What does Ada drink?"
TALK = [
    "I drink tea",
    "I drink coffee at work",
    "My sister drinks cocoa",
    "The weather is nice",
    "We walked to the harbour",
]
PROVIDERS = ["cohere", "jina", "tei"]


def coffee_first(texts: list[str]) -> list[float]:
    """Coffee is best, and all else the other way round."""
    return [50.0 if "coffee" in text else float(n) for n, text in enumerate(texts)]


def proper(body: dict[str, Any]) -> Answer:
    """Answer as the real ones do, best first: whatever the question, coffee is best."""
    tei = "texts" in body
    scores = coffee_first(body["texts" if tei else "documents"])
    ranked = sorted(enumerate(scores), key=lambda pair: -pair[1])
    if tei:
        return 200, {}, [{"index": n, "score": score} for n, score in ranked]
    results = [{"index": n, "relevance_score": score} for n, score in ranked]
    return 200, {}, {"id": "1", "results": results}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with listening(proper) as endpoint:
        yield endpoint


def settings(endpoint: Endpoint, provider: Any = "tei", **options: Any) -> RerankSettings:
    url = HttpUrl(f"{endpoint.url}/any/rerank")
    return RerankSettings(provider=provider, url=url, model="m", **options)


def reranking(memory: Remembrancer, rerank: RerankSettings) -> Remembrancer:
    changed = memory.settings.model_copy(update={"rerank": rerank})
    return Remembrancer(changed, memory.database, memory.embedder)


@pytest.fixture(params=["python", "rest"])
def entered(request: pytest.FixtureRequest, api: Api) -> Callable[[Remembrancer], Door]:
    """Each way into a store."""

    def enter(memory: Remembrancer) -> Door:
        if request.param == "python":
            return PythonDoor(memory, as_actor())
        transport = httpx2.ASGITransport(app=create_app(memory), raise_app_exceptions=False)
        client = httpx2.AsyncClient(transport=transport, base_url="http://test")
        return RestDoor(replace(api, client=client, memory=memory), api.service)

    return enter


async def say(door: Door, user: User, *messages: str) -> None:
    where = (await door.open(user=user))["id"]
    await door.say(where, [{"content": text} for text in messages], user=user)


async def recalled(door: Door, user: User, query: str = QUESTION, **fields: Any) -> list[str]:
    hits = (await door.recall(query, user=user, **fields))["hits"]
    return [hit["content"] for hit in hits]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_each_api(
    entered: Callable[[Remembrancer], Door],
    memory: Remembrancer,
    ada: User,
    endpoint: Endpoint,
    provider: str,
) -> None:
    """The endpoint gets question, texts with their speakers and key; its best comes first."""
    plain = entered(memory)
    await say(plain, ada, *TALK)
    assert (await recalled(plain, ada))[0] == TALK[0]
    key = SecretStr("key-of-the-endpoint")
    door = entered(reranking(memory, settings(endpoint, provider, api_key=key)))
    hits = (await door.recall(QUESTION, user=ada))["hits"]
    assert hits[0]["content"] == TALK[1]
    assert hits[0]["reasons"]["arms"]["rerank"] == {
        "rank": 1, "raw": 50.0, "score": 50.0, "lifted_by": 0
    }  # fmt: skip
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    [body] = endpoint.bodies
    texts = body.pop("texts" if provider == "tei" else "documents")
    assert set(texts) == {f"Ada: {text}" for text in TALK}
    rest: dict[str, Any] = {"model": "m", "top_n": len(TALK)}
    assert body == {"path": "/any/rerank", "query": QUESTION} | {
        "cohere": rest, "jina": rest | {"return_documents": False}, "tei": {"truncate": True},
    }[provider]  # fmt: skip
    assert endpoint.headers[0]["Authorization"] == "Bearer key-of-the-endpoint"


async def test_context_too(memory: Remembrancer, ada: User, bob: User, endpoint: Endpoint) -> None:
    """What a prompt gets is reranked; what another user said is not sent."""
    door = PythonDoor(reranking(memory, settings(endpoint)), as_actor())
    await say(door, ada, *TALK)
    await say(door, bob, "I drink petrol")
    block = await door.context(message=QUESTION, stable_tokens=0, user=ada)
    assert "coffee" in block["dynamic"]["text"]
    [body] = endpoint.bodies
    assert "petrol" not in str(body)


async def test_only_the_best_are_sent(memory: Remembrancer, ada: User, endpoint: Endpoint) -> None:
    """As many as set, cut to a length; the others follow in the order of the ranking."""
    long = "tea " * 5000
    plain = PythonDoor(memory, as_actor())
    await say(plain, ada, *TALK, long)
    door = PythonDoor(reranking(memory, settings(endpoint, candidates=2)), as_actor())
    before, after = await recalled(plain, ada, "tea"), await recalled(door, ada, "tea")
    assert len(endpoint.bodies[0]["texts"]) == 2
    assert max(map(len, endpoint.bodies[0]["texts"])) == MAX_CHARACTERS
    assert sorted(after) == sorted(before)
    assert after[2:] == before[2:]
    await door.recall(None, user=ada, mode="recent")
    assert len(endpoint.bodies) == 1


async def test_what_always_holds(memory: Remembrancer, ada: User, endpoint: Endpoint) -> None:
    """The own exact text is first and "ok" is last, whatever the endpoint says."""
    door = PythonDoor(reranking(memory, settings(endpoint)), as_actor())
    await say(door, ada, *TALK, "ok")

    def ok_first(body: dict[str, Any]) -> Answer:
        scores = [{"index": n, "score": float("ok" in t)} for n, t in enumerate(body["texts"])]
        return 200, {}, scores

    endpoint.script = [ok_first]
    found = await recalled(door, ada, TALK[0])
    assert found[0] == TALK[0]
    assert found[-1] == "ok"


BROKEN: list[Any] = [
    (500, {}, {}),
    (401, {}, {"error": QUESTION}),
    (302, {"Location": "http://127.0.0.1:9/"}, {}),
    (200, {}, b"<html>" + QUESTION.encode()),
    (200, {}, b"\xff\xfe"),
    (200, {}, None),
    (200, {}, {"error": QUESTION}),
    (200, {}, [{"index": 99, "score": 1.0}]),
    (200, {}, [{"index": -1, "score": 1.0}]),
    (200, {}, [{"index": 0, "score": QUESTION}]),
    (200, {}, b'[{"index": 0, "score": NaN}]'),
    (200, {}, [{"index": 0}]),
    (200, {}, b"[" * 100_000),
]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_without_a_good_answer_the_ranking_decides(
    memory: Remembrancer,
    ada: User,
    endpoint: Endpoint,
    caplog: pytest.LogCaptureFixture,
    provider: str,
) -> None:
    """The hits are those of a store without rerank, and a warning has no word of anybody."""
    plain = PythonDoor(memory, as_actor())
    await say(plain, ada, *TALK)
    expected = await plain.recall(QUESTION, user=ada)
    door = PythonDoor(reranking(memory, settings(endpoint, provider)), as_actor())
    endpoint.script = list(BROKEN)
    for _ in BROKEN:
        assert _told(await door.recall(QUESTION, user=ada)) == _told(expected)
    await _fails_quietly(caplog, len(BROKEN))
    assert "(HTTP 401)" in caplog.text


async def test_nobody_there_or_too_slow(
    memory: Remembrancer, ada: User, endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    """An endpoint that does not listen, or not answer in time, holds nobody up."""
    plain = PythonDoor(memory, as_actor())
    await say(plain, ada, *TALK)
    expected = await plain.recall(QUESTION, user=ada)
    gone = Endpoint("http://127.0.0.1:9", proper)
    door = PythonDoor(reranking(memory, settings(gone)), as_actor())
    assert _told(await door.recall(QUESTION, user=ada)) == _told(expected)
    waiting = threading.Event()

    def late(body: dict[str, Any]) -> Answer:
        waiting.wait(5)
        return proper(body)

    endpoint.script = [late]
    door = PythonDoor(reranking(memory, settings(endpoint, timeout=0.1)), as_actor())
    try:
        assert _told(await door.recall(QUESTION, user=ada)) == _told(expected)
    finally:
        waiting.set()
    await _fails_quietly(caplog, 2)


async def _fails_quietly(caplog: pytest.LogCaptureFixture, times: int) -> None:
    warnings = [r.getMessage() for r in caplog.records if r.name.endswith("recall.rerank")]
    assert len(warnings) == times
    assert not [word for word in (QUESTION, *TALK) if word in caplog.text]


def _told(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(hit["content"], hit["score"]) for hit in answer["hits"]]


def test_off_unless_set() -> None:
    """Nothing is sent anywhere by default; an endpoint that needs a model must have one."""
    assert create_reranker(RerankSettings()) is None
    for provider in ("cohere", "jina"):
        with pytest.raises(ConfigurationError, match="REMEMBRANCER_RERANK__MODEL"):
            create_reranker(RerankSettings(provider=provider))
    with pytest.raises(ValidationError, match="url"):
        RerankSettings(provider="tei", url="nowhere")
