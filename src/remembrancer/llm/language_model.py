"""Ask a language model one question and get an answer with a schema.

Errors name only their kind. The text of a provider's error is dropped, because it may quote users.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, exceptions, messages
from pydantic_ai.capabilities import Hooks
from pydantic_ai.models import Model
from pydantic_ai.output import OutputSpec
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.settings import ModelSettings

from remembrancer.errors import AnswerCutShort, LanguageModelUnavailable, UnusableAnswer
from remembrancer.llm import ChatTurn
from remembrancer.llm.json_output import json_object

Answer = TypeVar("Answer", bound=BaseModel)


class LanguageModel:
    """A language model that answers in JSON.

    The schema of the answer is sent in the provider's own way. After a provider refuses one, it
    becomes part of the prompt.
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

        An answer that does not fit is sent back with its errors, up to ``retries`` times.
        Requests to a busy provider are repeated after the pause that it asks for. Raises
        ``AnswerCutShort`` if the question or the answer is too long for the model,
        ``UnusableAnswer`` if no answer fits, else ``LanguageModelUnavailable``.
        """
        if self._native:
            try:
                return await self._ask(
                    self._model, NativeOutput(answer, strict=False), instructions, question
                )
            except _SchemaRefused:
                self._native = False
        return await self._ask(_plain(self._model), PromptedOutput(answer), instructions, question)

    async def reply(self, instructions: str, history: Sequence[ChatTurn], question: str) -> str:
        """Return the model's answer to a question that follows ``history``.

        Raises the same errors as :meth:`ask`.
        """
        agent: Agent[None, str] = Agent(
            self._model,
            instructions=instructions,
            deps_type=type(None),
            model_settings=ModelSettings(**{**self._settings, "temperature": 0.7}),
        )
        with _only_kinds_of_errors():
            messages = [_message(turn) for turn in history]
            return (await agent.run(question, deps=None, message_history=messages)).output

    async def close(self) -> None:
        """Close the connections to the provider."""
        async with self._model:
            pass  # the exit closes them

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
        with _only_kinds_of_errors():
            try:
                return (await agent.run(question, deps=None)).output
            except exceptions.AgentRunError as error:
                if self._native and _refuses_schema(error):
                    raise _SchemaRefused from None
                raise


class _SchemaRefused(Exception):
    """The endpoint refuses a schema."""


@contextmanager
def _only_kinds_of_errors() -> Iterator[None]:
    try:
        yield
    except (exceptions.OutputTokenLimitExceeded, exceptions.ModelContextWindowExceededError):
        raise AnswerCutShort(
            "the question or the answer is too long for the language model; shorten it"
        ) from None
    except exceptions.UnexpectedModelBehavior:
        raise UnusableAnswer(
            "the language model gave no usable answer; try again or use another model"
        ) from None
    except exceptions.AgentRunError as error:
        raise LanguageModelUnavailable(
            f"the language model did not answer ({_kind(error)}); try again later"
        ) from None


def _message(turn: ChatTurn) -> messages.ModelMessage:
    role, content = turn
    if role == "assistant":
        return messages.ModelResponse(parts=[messages.TextPart(content)])
    return messages.ModelRequest(parts=[messages.UserPromptPart(content)])


def _refuses_schema(error: exceptions.AgentRunError) -> bool:
    other = isinstance(error, exceptions.ModelAuthenticationError | exceptions.ModelNotFoundError)
    return isinstance(error, exceptions.ModelRequestRejectedError) and not other


def _kind(error: exceptions.AgentRunError) -> str:
    if isinstance(error, exceptions.ModelHTTPError):
        return f"HTTP {error.status_code}"
    return type(error).__name__.lstrip("_")


def _plain(model: Model) -> Model:
    """Return a model that gets the schema only in the prompt."""
    plain = copy(model)
    profile = merge_profile(model.profile, ModelProfile(supports_json_object_output=False))
    # The profile is a cached property; replace its value in the copy.
    vars(plain)["profile"] = profile
    return plain


async def _unwrap(
    _context: Any,
    *,
    request_context: Any,  # noqa: ARG001 - hooks are called by name
    response: messages.ModelResponse,
) -> messages.ModelResponse:
    """Remove fences and prose around the requested object."""
    parts = [
        replace(part, content=json_object(part.content))
        if isinstance(part, messages.TextPart)
        else part
        for part in response.parts
    ]
    return replace(response, parts=parts)
