"""Which model, address and key a chat uses; answers that no provider would give."""

import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest
from endpoint import Endpoint, dripping, listening
from pydantic import BaseModel, SecretStr
from pydantic_ai.models.openai import OpenAIChatModel

from remembrancer.errors import ConfigurationError, LanguageModelUnavailable, MissingExtra
from remembrancer.llm import create_language_model
from remembrancer.llm.messages import UserText
from remembrancer.settings import LanguageModelSettings

ADDRESS = "http://127.0.0.1:1/v1/"
SETTINGS = LanguageModelSettings(
    model="openai:configured", base_url=ADDRESS, api_key=SecretStr("key-of-the-settings")
)


def chosen(settings: LanguageModelSettings, name: str | None) -> tuple[str, str, str]:
    """The name, the address and the key of a model."""
    model = create_language_model(settings, name)
    assert model is not None
    assert isinstance(model._model, OpenAIChatModel)
    client = model._model.client
    return model.name, str(client.base_url), client.api_key


@pytest.mark.parametrize(
    ("name", "full"),
    [(None, "openai:configured"), ("other", "openai:other"), ("openai:other", "openai:other")],
)
def test_a_model_of_the_configured_provider_has_its_address_and_key(
    name: str | None, full: str
) -> None:
    """A name without a provider is one of the configured provider's."""
    assert chosen(SETTINGS, name) == (full, ADDRESS, "key-of-the-settings")


def test_another_provider_gets_neither_address_nor_key() -> None:
    """A key is for its own provider alone."""
    name, address, key = chosen(SETTINGS, "ollama:other")
    assert (name, address) == ("ollama:other", "http://127.0.0.1:11434/v1/")
    assert key != "key-of-the-settings"


def test_an_address_without_a_model_is_for_the_named_one() -> None:
    """Then the settings have no provider that it could belong to."""
    settings = SETTINGS.model_copy(update={"model": ""})
    assert create_language_model(settings) is None
    assert chosen(settings, "openai:other")[1] == ADDRESS
    with pytest.raises(ConfigurationError, match="provider and model"):
        create_language_model(settings, "other")


@pytest.mark.parametrize(
    ("package", "model", "extra"),
    [
        ("pydantic_ai.models", "openai:any", "remembrancer[llm]"),
        ("openai", "ollama:any", "remembrancer[llm]"),
        ("anthropic", "anthropic:any", "remembrancer[anthropic]"),
        ("groq", "groq:any", "pydantic-ai-slim[groq]"),
    ],
)
def test_a_missing_provider_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, package: str, model: str, extra: str
) -> None:
    """The error says what brings the package, whichever is missing."""
    for name in [*sys.modules]:
        if name.startswith(("remembrancer.llm.providers", "pydantic_ai.providers.")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra) as refused:
        create_language_model(LanguageModelSettings(model=model, api_key=SecretStr("key")))
    assert f"run: pip install '{extra}'" in str(refused.value)


# --- an endpoint that lies ---


class Summary(BaseModel):
    """What the model is asked for."""

    summary: str


def completion(**changes: Any) -> Any:
    """A well-formed answer, with changes."""
    message = {"role": "assistant", "content": '{"summary": "SECRET"}'}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    made = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {**made, **changes}


WRONG: Final = {
    "no JSON": (200, {}, b"<html>SECRET"),
    "nothing": (200, {}, b""),
    "no text": (200, {}, b"\xff\xfe"),
    "null": (200, {}, None),
    "a list": (200, {}, []),
    "too deep": (200, {}, b"[" * 100_000),
    "endless number": (200, {}, b'{"SECRET": %b}' % (b"9" * 5000)),
    "no choices": (200, {}, completion(choices=None)),
    "empty choice": (200, {}, completion(choices=[None])),
    "choice of a number": (200, {}, completion(choices=[7])),
    "empty message": (200, {}, completion(choices=[{"message": None}])),
    "no such day": (200, {}, completion(created=10**18)),
    "NaN": (200, {}, completion(created=float("nan"))),
    "usage of NaN": (200, {}, completion(usage={"prompt_tokens": float("nan")})),
    "error with 200": (200, {}, {"error": {"message": "SECRET"}}),
    "cut off": (200, {"Content-Length": "9999"}, completion()),
    "longer than it says": (200, {"Content-Length": "5"}, completion()),
    "wrong encoding": (200, {"Content-Encoding": "gzip"}, completion()),
}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with listening(lambda _: (200, {}, completion())) as endpoint:
        yield endpoint


async def refusals(endpoint: Endpoint, answer: Any) -> list[LanguageModelUnavailable]:
    """What an answer does to a question, and to a chat."""
    settings = LanguageModelSettings(
        model="openai:any", base_url=f"{endpoint.url}/v1", timeout=0.5, retries=0
    )
    model = create_language_model(settings)
    assert model is not None
    endpoint.script = [answer] * 20
    with pytest.raises(LanguageModelUnavailable) as asked:
        await model.ask("Sum it up.", "SECRET", Summary)
    with pytest.raises(LanguageModelUnavailable) as chatted:
        await model.chat("Talk.", [UserText("SECRET")], on_text=lambda _: None)
    await model.close()
    return [asked.value, chatted.value]


async def test_answers_that_no_provider_would_give(endpoint: Endpoint) -> None:
    """Whatever comes is told as the model's failure, without its text."""
    for name, answer in WRONG.items():
        for error in await refusals(endpoint, answer):
            assert "SECRET" not in str(error), name
            assert error.__suppress_context__, name
            assert error.__cause__ is None, name


async def test_an_answer_that_drips_is_too_slow(endpoint: Endpoint) -> None:
    """The timeout is for the whole answer, not for each byte of it."""
    for error in await refusals(endpoint, lambda _: (200, {}, dripping())):
        assert "in time" in str(error)
