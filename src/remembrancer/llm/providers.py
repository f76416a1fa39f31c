"""Create the configured language model with its provider, address and key."""

from typing import Any, Final

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model
from pydantic_ai.providers import Provider, infer_provider_class

from remembrancer.errors import ConfigurationError, MissingExtra
from remembrancer.llm.language_model import LanguageModel
from remembrancer.settings import LanguageModelSettings

_EXTRAS: Final = {
    "openai": "remembrancer[llm]",
    "anthropic": "remembrancer[anthropic]",
    "google": "remembrancer[google]",
}
"""What brings the package of a provider."""
OLLAMA = "http://127.0.0.1:11434/v1"
"""The default address of Ollama."""


def language_model(settings: LanguageModelSettings) -> LanguageModel:
    """Return the configured model.

    Raises ``ConfigurationError`` for a provider that is unknown, not installed or without a key.
    """
    return LanguageModel(
        _model(settings),
        name=settings.model,
        max_tokens=settings.max_tokens,
        timeout=settings.timeout,
        retries=settings.retries,
    )


def _model(settings: LanguageModelSettings) -> Model:
    provider, _, name = settings.model.partition(":")
    if not name:
        raise ConfigurationError(
            "REMEMBRANCER_LLM__MODEL must be provider and model, such as openai:gpt-5-mini"
        )
    try:
        if provider == "openai" and settings.base_url:
            return _compatible(name, settings)
        return infer_model(settings.model, lambda kind: _provider(kind, settings))
    except ImportError as error:
        package, _, _ = (getattr(error.__cause__, "name", None) or "").partition(".")
        needed = _EXTRAS.get(package, f"pydantic-ai-slim[{provider}]")
        raise MissingExtra(
            f"the provider {provider} is not installed; run: pip install '{needed}'"
        ) from None
    except (UserError, ValueError, TypeError):
        raise ConfigurationError(
            f"the language model {settings.model} cannot be used; check the provider's name, "
            "REMEMBRANCER_LLM__API_KEY and REMEMBRANCER_LLM__BASE_URL"
        ) from None


def _compatible(name: str, settings: LanguageModelSettings) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    assert settings.base_url is not None
    provider = OpenAICompatibleProvider(
        "openai-compatible", base_url=settings.base_url, api_key=_key(settings)
    )
    return OpenAIChatModel(name, provider=provider)


def _provider(kind: str, settings: LanguageModelSettings) -> Provider[Any]:
    arguments: dict[str, Any] = {"api_key": _key(settings), "base_url": settings.base_url}
    if kind == "ollama" and not settings.base_url:
        arguments["base_url"] = OLLAMA
    return infer_provider_class(kind)(
        **{name: value for name, value in arguments.items() if value is not None}
    )


def _key(settings: LanguageModelSettings) -> str | None:
    return settings.api_key.get_secret_value() if settings.api_key else None
