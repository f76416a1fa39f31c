"""Ask a model one question and get an answer of a known shape.

What goes wrong is told by its kind. The text of a provider's errors goes nowhere: it may quote
what people said.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAuthenticationError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelRequestRejectedError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.output import OutputSpec
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.settings import ModelSettings

from remembrancer.errors import AnswerCutShort, LanguageModelUnavailable, UnusableAnswer
from remembrancer.llm.json_output import Said, json_object

Answer = TypeVar("Answer", bound=BaseModel)


class LanguageModel:
    """A language model that answers in JSON.

    The schema of an answer goes along in the way the provider has for it. A model or endpoint
    that has none is told the schema in words, from the first refusal on.
    """

    def __init__(
        self, model: Model, *, name: str, max_tokens: int, timeout: float, retries: int
    ) -> None:
        self.name = name
        self._model = model
        self._settings = ModelSettings(
            max_tokens=max_tokens, timeout=timeout, temperature=0.0, max_retries=retries
        )
        self._retries = retries
        self._native = bool(model.profile.get("supports_json_schema_output", False))

    async def ask(self, instructions: str, question: str, answer: type[Answer]) -> Answer:
        """Return the model's answer to ``question``.

        An answer that does not fit is sent back with what is wrong, ``retries`` times; so are
        requests that the provider was too busy for, after the pause it asked for. Raises
        ``AnswerCutShort`` where the question or the answer is too long for the model,
        ``UnusableAnswer`` where none fits, else ``LanguageModelUnavailable``.
        """
        if self._native:
            try:
                return await self._ask(
                    self._model, NativeOutput(answer, strict=False), instructions, question
                )
            except _SchemaRefused:
                self._native = False
        return await self._ask(_plain(self._model), PromptedOutput(answer), instructions, question)

    async def reply(self, instructions: str, said: Sequence[Said], question: str) -> str:
        """Return what the model answers in a conversation: ``said`` so far, and the question.

        Raises what :meth:`ask` does.
        """
        agent: Agent[None, str] = Agent(
            self._model,
            instructions=instructions,
            deps_type=type(None),
            model_settings=ModelSettings(**{**self._settings, "temperature": 0.7}),
        )
        with _told_by_kind():
            history = [_message(one) for one in said]
            return (await agent.run(question, deps=None, message_history=history)).output

    async def close(self) -> None:
        """Close the connections to the provider."""
        async with self._model:
            pass  # leaving is what closes them

    async def _ask(
        self, model: Model, output: OutputSpec[Answer], instructions: str, question: str
    ) -> Answer:
        agent: Agent[None, Answer] = Agent(
            model,
            output_type=output,
            instructions=instructions,
            deps_type=type(None),
            model_settings=self._settings,
            retries={"output": self._retries},
            capabilities=[Hooks(after_model_request=_unwrap)],
        )
        with _told_by_kind():
            try:
                return (await agent.run(question, deps=None)).output
            except AgentRunError as error:
                if self._native and _refuses_schema(error):
                    raise _SchemaRefused from None
                raise


class _SchemaRefused(Exception):
    """The endpoint does not take a schema."""


@contextmanager
def _told_by_kind() -> Iterator[None]:
    try:
        yield
    except (OutputTokenLimitExceeded, ModelContextWindowExceededError):
        raise AnswerCutShort("this is more than the language model can answer") from None
    except UnexpectedModelBehavior:
        raise UnusableAnswer("the language model gave no usable answer") from None
    except AgentRunError as error:
        raise LanguageModelUnavailable(
            f"the language model did not answer: {_kind(error)}"
        ) from None


def _message(said: Said) -> ModelMessage:
    role, content = said
    if role == "assistant":
        return ModelResponse(parts=[TextPart(content)])
    return ModelRequest(parts=[UserPromptPart(content)])


def _refuses_schema(error: AgentRunError) -> bool:
    known = isinstance(error, ModelAuthenticationError | ModelNotFoundError)
    return isinstance(error, ModelRequestRejectedError) and not known


def _kind(error: AgentRunError) -> str:
    if isinstance(error, ModelHTTPError):
        return f"HTTP {error.status_code}"
    return type(error).__name__.lstrip("_")


def _plain(model: Model) -> Model:
    """Return a model that is told the schema in words alone, for whatever takes no other."""
    told = copy(model)
    profile = merge_profile(model.profile, ModelProfile(supports_json_object_output=False))
    # The profile is worked out once and kept in the instance: this one is worked out already.
    vars(told)["profile"] = profile
    return told


async def _unwrap(
    _context: Any,
    *,
    request_context: Any,  # noqa: ARG001 - hooks are called by name
    response: ModelResponse,
) -> ModelResponse:
    """Take fences and prose from around the object that was asked for."""
    parts = [
        replace(part, content=json_object(part.content)) if isinstance(part, TextPart) else part
        for part in response.parts
    ]
    return replace(response, parts=parts)
