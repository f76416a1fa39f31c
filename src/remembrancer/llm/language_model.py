"""A language model: answers with a schema, and replies in a chat.

Errors name only their kind. The text of a provider's error is dropped, because it may quote users.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError
from pydantic_ai import Agent, NativeOutput, PromptedOutput, TextOutput, exceptions, messages
from pydantic_ai.capabilities import Hooks
from pydantic_ai.models import Model
from pydantic_ai.output import OutputSpec
from pydantic_ai.settings import ModelSettings

from remembrancer.errors import AnswerCutShort, LanguageModelUnavailable, UnusableAnswer
from remembrancer.llm import concessions
from remembrancer.llm.chat import OnText, request, to_history, to_reply
from remembrancer.llm.concessions import Concession, Concessions
from remembrancer.llm.json_output import json_object
from remembrancer.llm.messages import ChatMessage, ModelReply, ToolSchema
from remembrancer.telemetry.spans import span

Answer = TypeVar("Answer", bound=BaseModel)
Result = TypeVar("Result")

_LONGEST_PAUSE = 60.0
"""Seconds for which clients of providers wait at most when they are asked to."""
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors of a provider's client in an answer that is not of the provider's API."""
_TOO_LONG = "the question or the answer is too long for the language model; shorten it"
_ADVICE = {
    401: "check its API key",
    403: "check its API key",
    404: "check its name and its address",
}
_ANSWER_AS = "Answer with one JSON object of this schema, without other text:"


class LanguageModel:
    """A language model that answers in JSON or takes part in a chat.

    The schema of an answer is sent in the provider's own way. What a provider refuses is left
    out of the request: see ``concessions``. A concession that helps is remembered for an hour.
    """

    def __init__(
        self, model: Model, *, name: str, max_tokens: int, timeout: float, retries: int
    ) -> None:
        self.name = name
        self._model = model
        self._settings = ModelSettings(max_tokens=max_tokens, timeout=timeout, max_retries=retries)
        self._retries = retries
        # The client's own timeout is for each read, not for the whole answer.
        self._seconds = timeout * (retries + 1) + _LONGEST_PAUSE * retries
        takes = {
            Concession.SCHEMA: model.profile.get("supports_json_schema_output", False),
            Concession.TOOLS: model.profile.get("supports_tools", True),
        }
        self._needed = frozenset(each for each, taken in takes.items() if not taken)
        self._conceded = self._needed
        self._conceded_at = 0.0

    async def ask(self, instructions: str, question: str, answer: type[Answer]) -> Answer:
        """Return the model's answer to ``question``.

        An answer that does not fit is sent back with its errors, up to ``retries`` times.
        Requests to a busy provider are repeated after the pause that it asks for. Raises
        ``AnswerCutShort`` if the question or the answer is too long for the model,
        ``UnusableAnswer`` if no answer fits, else ``LanguageModelUnavailable``.
        """
        return await self._concede(
            lambda conceded: self._ask(conceded, instructions, question, answer),
            concessions.OF_ANSWER,
        )

    async def chat(
        self,
        instructions: str,
        history: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSchema] = (),
        temperature: float | None = None,
        on_text: OnText,
    ) -> ModelReply:
        """Return the next reply in a chat that is not empty; ``on_text`` gets its text in pieces.

        Without a temperature it is the provider's. A reply that breaks off after its first piece
        is not requested again. Raises the same errors as :meth:`ask`.
        """
        begun = False

        def forward(text: str) -> None:
            nonlocal begun
            # Models begin with line breaks, above all after their reasoning.
            if text := text if begun else text.lstrip():
                begun = True
                on_text(text)

        async def attempt(conceded: Concessions) -> ModelReply:
            stream = Concession.STREAM not in conceded
            without_tools = bool(tools) and Concession.TOOLS in conceded
            try:
                response = await request(
                    _adapted(self._model, conceded),
                    to_history(instructions, history, system=Concession.SYSTEM not in conceded),
                    self._settings_for(conceded, temperature=temperature),
                    [] if without_tools else tools,
                    stream=stream,
                    on_text=forward,
                )
            except (exceptions.AgentRunError, httpx2.HTTPError) as error:
                if begun or not isinstance(error, exceptions.AgentRunError):
                    raise _translated(error) from None
                if stream and type(error) is exceptions.UnexpectedModelBehavior:
                    # The provider took the request, but streamed nothing.
                    raise exceptions.ModelHTTPError(200, self.name, "stream") from None
                raise
            return to_reply(response, without_tools=without_tools)

        return await self._concede(attempt, concessions.OF_CHAT)

    async def close(self) -> None:
        """Close the connections to the provider."""
        async with self._model:
            pass  # the exit closes them

    async def _concede(
        self, attempt: Callable[[Concessions], Awaitable[Result]], possible: Concessions
    ) -> Result:
        """Return the result of the first attempt that the provider does not refuse."""
        with span("llm", model=self.name):
            return await self._first_taken(attempt, possible)

    async def _first_taken(
        self, attempt: Callable[[Concessions], Awaitable[Result]], possible: Concessions
    ) -> Result:
        if time.monotonic() - self._conceded_at > concessions.SECONDS:
            self._conceded = self._needed
        following, tried = [self._conceded], set[Concessions]()
        first: Exception | None = None
        while following:
            conceded = following.pop(0)
            tried.add(conceded)
            try:
                async with asyncio.timeout(self._seconds):
                    result = await attempt(conceded)
            except (exceptions.ModelHTTPError, IndexError) as error:
                # The provider answers without an answer: ``choices`` is empty.
                status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else 200
                text = str(error.body) if isinstance(error, exceptions.ModelHTTPError) else ""
                overflow = isinstance(error, exceptions.ModelContextWindowExceededError)
                if overflow or concessions.is_too_long(status, text):
                    raise AnswerCutShort(_TOO_LONG, provider_status=status) from None
                first = first or error
                options = concessions.next_requests(status, text, conceded, possible)
                following = [option for option in (*options, *following) if option not in tried]
            except (exceptions.AgentRunError, TimeoutError, *_UNREADABLE) as error:
                raise _translated(error) from None
            else:
                if conceded != self._conceded:
                    self._conceded, self._conceded_at = conceded, time.monotonic()
                return result
        assert first is not None
        raise _translated(first) from None

    def _settings_for(self, conceded: Concessions, *, temperature: float | None) -> ModelSettings:
        settings = ModelSettings(**self._settings)
        if temperature is not None and Concession.TEMPERATURE not in conceded:
            settings["temperature"] = temperature
        if Concession.LIMIT in conceded:
            del settings["max_tokens"]
        return settings

    async def _ask(
        self, conceded: Concessions, instructions: str, question: str, answer: type[Answer]
    ) -> Answer:
        output: OutputSpec[Answer] = NativeOutput(answer, strict=False)
        system: str | None = instructions
        if Concession.SYSTEM in conceded:
            system, parts = None, [instructions, question]
            if Concession.SCHEMA in conceded:
                output = TextOutput(_parser(answer))
                parts.insert(1, f"{_ANSWER_AS}\n{json.dumps(answer.model_json_schema())}")
            question = "\n\n".join(parts)
        elif Concession.SCHEMA in conceded:
            output = PromptedOutput(answer)
        agent: Agent[None, Answer] = Agent(
            _adapted(self._model, conceded),
            output_type=output,
            instructions=system,
            deps_type=type(None),
            model_settings=self._settings_for(conceded, temperature=0.0),
            retries={"output": self._retries},
            capabilities=[Hooks(after_model_request=_unwrapper(answer))],
        )
        return (await agent.run(question, deps=None)).output


def _translated(error: Exception) -> LanguageModelUnavailable:
    """Return the error for callers: only its kind."""
    status = error.status_code if isinstance(error, exceptions.ModelHTTPError) else None
    if isinstance(error, exceptions.OutputTokenLimitExceeded):
        return AnswerCutShort(_TOO_LONG)
    if isinstance(error, (exceptions.UnexpectedModelBehavior, *_UNREADABLE)) or status == 200:
        return UnusableAnswer(
            "the language model gave no usable answer; try again or use another model"
        )
    if status is not None:
        advice = _ADVICE.get(status, "try again later")
        return LanguageModelUnavailable(
            f"the language model did not answer (HTTP {status}); {advice}", provider_status=status
        )
    if isinstance(error, exceptions.ModelTimeoutError | httpx2.TimeoutException | TimeoutError):
        return LanguageModelUnavailable(
            "the language model did not answer in time; try again later"
        )
    if isinstance(error, exceptions.ModelConnectionError | httpx2.HTTPError):
        return LanguageModelUnavailable(
            "the language model cannot be reached, or broke off; check that it runs at its address"
        )
    kind = type(error).__name__.lstrip("_")
    return LanguageModelUnavailable(f"the language model did not answer ({kind}); try again later")


def _adapted(model: Model, conceded: Concessions) -> Model:
    """Return a model whose profile says what the provider does not take."""
    profile: dict[str, bool | str] = {}
    if Concession.SCHEMA in conceded:
        profile["supports_json_object_output"] = False
    if Concession.LIMIT_NAME in conceded:
        key = "openai_chat_supports_max_completion_tokens"
        profile[key] = not model.profile.get(key, True)
    if Concession.SYSTEM in conceded:
        # Errors of an answer are sent back as this role.
        profile["openai_system_prompt_role"] = "user"
    if not profile:
        return model
    adapted = copy(model)
    # The profile is a cached property; replace its value in the copy.
    vars(adapted)["profile"] = {**model.profile, **profile}
    return adapted


def _parser(answer: type[Answer]) -> Callable[[str], Answer]:
    def parse(text: str) -> Answer:
        try:
            return answer.model_validate_json(text)
        except ValidationError as error:
            raise exceptions.ModelRetry(
                str(error.errors(include_url=False, include_input=False))
            ) from None

    return parse


def _unwrapper(answer: type[BaseModel]) -> Any:
    """Return a hook that removes reasoning, fences and prose around the requested object."""

    def fits(text: str) -> bool:
        try:
            answer.model_validate_json(text)
        except ValidationError:
            return False
        return True

    async def unwrap(
        _context: Any,
        *,
        request_context: Any,  # noqa: ARG001 - hooks are called by name
        response: messages.ModelResponse,
    ) -> messages.ModelResponse:
        parts = [
            replace(part, content=json_object(part.content, fits))
            if isinstance(part, messages.TextPart)
            else part
            for part in response.parts
        ]
        return replace(response, parts=parts)

    return unwrap
