"""The request for a summary and facts, and the answer to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError, create_model

from remembrancer.extraction.transcript import Transcript
from remembrancer.memories.schemas import Category, Kind

EVERYONE: Final = "everyone"
"""Whom a fact is about that is about all of them."""
MOST_FACTS: Final = 20
LONGEST_FACT: Final = 400
LONGEST_SUMMARY: Final = 1500

_PROMPTS = Environment(
    loader=PackageLoader("remembrancer.extraction", "prompts"),
    # Prompts are plain text; what people said is kept in its line by ``one_line``.
    autoescape=False,  # noqa: S701
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

Date = Annotated[str | None, Field(max_length=32)]


class FactFound(BaseModel):
    """Something a person said that is worth remembering."""

    content: str = Field(min_length=3, max_length=LONGEST_FACT)
    about: str = Field(max_length=200)
    subject: str | None = Field(None, max_length=100)
    category: Category
    kind: Kind = Kind.FACT
    lines: list[int] = Field(min_length=1, max_length=8)
    updates: str | None = Field(None, max_length=16)
    valid_from: Date = None
    valid_to: Date = None


_FACT: Final = TypeAdapter(FactFound)


def _those_that_fit(found: Any) -> Any:
    """Leave out facts of the wrong shape: one bad fact is no reason to ask for all again."""
    return [one for one in found[:MOST_FACTS] if _fits(one)] if isinstance(found, list) else found


def _fits(fact: Any) -> bool:
    try:
        _FACT.validate_python(fact)
    except ValidationError:
        return False
    return True


def _within(length: int) -> BeforeValidator:
    return BeforeValidator(lambda words: words[:length] if isinstance(words, str) else words)


class Extraction(BaseModel):
    """What a part of a conversation says, in short, and what in it is worth remembering."""

    summary: Annotated[str, Field(max_length=LONGEST_SUMMARY), _within(LONGEST_SUMMARY)]
    facts: Annotated[
        list[FactFound], Field(max_length=MOST_FACTS), BeforeValidator(_those_that_fit)
    ]


def answer_about(names: Iterable[str]) -> type[Extraction]:
    """Return the shape of an answer about these people: the schema offers no other name."""
    offered = [*names, EVERYONE]
    name = Annotated[str, Field(max_length=200, json_schema_extra={"enum": offered})]
    fact = create_model("FactFound", __base__=FactFound, about=name)
    facts = Annotated[
        list[fact],
        Field(max_length=MOST_FACTS),
        BeforeValidator(_those_that_fit),
    ]
    return create_model("Extraction", __base__=Extraction, facts=facts)


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A memory that what was said may change."""

    id: str
    name: str
    """Whose it is, as called in the transcript."""
    content: str
    """On one line."""


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a transcript as a model sees it."""

    number: int
    day: str
    name: str
    assistant: bool
    words: str


def instructions() -> str:
    """Return what the model is told of its work."""
    return _PROMPTS.get_template("extract.instructions.jinja").render()


def request(talk: Transcript, known: Sequence[KnownFact], lines: Iterable[ShownLine]) -> str:
    """Return what the model is asked."""
    return _PROMPTS.get_template("extract.request.jinja").render(
        people=list(talk.people), known=known, lines=list(lines)
    )
