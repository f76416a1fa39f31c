"""Which model, address and key a chat uses."""

import sys

import pytest
from pydantic import SecretStr
from pydantic_ai.models.openai import OpenAIChatModel

from remembrancer.errors import ConfigurationError, MissingExtra
from remembrancer.llm import create_language_model
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
