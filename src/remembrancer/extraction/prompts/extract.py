"""The request for a summary and facts, and its answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, create_model

from remembrancer.extraction.transcript import Transcript
from remembrancer.memories.schemas import Category, Kind

if TYPE_CHECKING:
    from jinja2 import Environment

EVERYONE: Final = "everyone"
"""The subject of a fact about all participants."""
MOST_FACTS: Final = 20
LONGEST_FACT: Final = 400
LONGEST_SUMMARY: Final = 1500

Date = Annotated[str | None, Field(max_length=32)]


class ModelFact(BaseModel):
    content: str = Field(min_length=3, max_length=LONGEST_FACT)
    about: str = Field(max_length=200)
    subject: str | None = Field(None, max_length=100)
    category: Category
    kind: Kind = Kind.FACT
    lines: list[int] = Field(min_length=1, max_length=8)
    updates: str | None = Field(None, max_length=16)
    valid_from: Date = None
    valid_to: Date = None


def _only_valid(facts: Any) -> Any:
    """Drop invalid facts, instead of asking for all of them again."""
    return (
        [fact for fact in facts[:MOST_FACTS] if _is_valid(fact)]
        if isinstance(facts, list)
        else facts
    )


def _is_valid(fact: Any) -> bool:
    try:
        ModelFact.model_validate(fact)
    except ValidationError:
        return False
    return True


def _cut(length: int) -> BeforeValidator:
    return BeforeValidator(lambda text: text[:length] if isinstance(text, str) else text)


class Extraction(BaseModel):
    """A summary of a part of a conversation, and its facts."""

    summary: Annotated[str, Field(max_length=LONGEST_SUMMARY), _cut(LONGEST_SUMMARY)]
    facts: Annotated[list[ModelFact], Field(max_length=MOST_FACTS), BeforeValidator(_only_valid)]


def answer_about(names: Iterable[str]) -> type[Extraction]:
    """Return the type of an answer about these people; its schema has no other names."""
    subjects = [*names, EVERYONE]
    name = Annotated[str, Field(max_length=200, json_schema_extra={"enum": subjects})]
    fact = create_model("ModelFact", __base__=ModelFact, about=name)
    facts = Annotated[
        list[fact],
        Field(max_length=MOST_FACTS),
        BeforeValidator(_only_valid),
    ]
    return create_model("Extraction", __base__=Extraction, facts=facts)


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A memory near the transcript, which the transcript may change."""

    id: str
    name: str
    """Its owner's name in the transcript."""
    content: str
    """On one line."""


@dataclass(frozen=True, slots=True)
class Topic:
    """The subject of a conversation: its space. Each text is on one line."""

    name: str
    description: str
    title: str
    """Title of the conversation."""


@dataclass(frozen=True, slots=True)
class PromptLine:
    number: int
    day: str
    name: str
    assistant: bool
    words: str


@cache
def _prompts() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - rarely needed

    return Environment(
        loader=PackageLoader("remembrancer.extraction", "prompts"),
        # Prompts are plain text; ``visible_line`` keeps each message on its line.
        autoescape=False,  # noqa: S701 - a prompt is no HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def instructions() -> str:
    return _prompts().get_template("extract.instructions.jinja").render()


def request(
    transcript: Transcript,
    known: Sequence[KnownFact],
    lines: Iterable[PromptLine],
    topic: Topic | None,
) -> str:
    return (
        _prompts()
        .get_template("extract.request.jinja")
        .render(people=list(transcript.people), known=known, lines=list(lines), topic=topic)
    )
