"""The arguments of the memory tools."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from remembrancer.memories.schemas import AssociationCreate, Category, Expiry, Importance, Kind
from remembrancer.places.schemas import Notes
from remembrancer.recall.schemas import MIN_RELEVANCE, Mode, Sort
from remembrancer.text import Key, Label, Statement
from remembrancer.validation import Input

_LONGEST_ID = 64
_SHOWN_ID = re.compile(r"^\[?\s*(?:id:)?\s*([0-9A-Za-z]+)\s*\]?$")


def _bare_id(value: Any) -> Any:
    match = _SHOWN_ID.match(value.strip()) if isinstance(value, str) else None
    return match[1] if match else value


def _id_like(value: str) -> str:
    if not 1 <= len(value) <= _LONGEST_ID:
        raise ValueError("must be an id of 8 letters and digits, such as a1B2c3D4")
    return value


MemoryRef = Annotated[str, BeforeValidator(_bare_id), AfterValidator(_id_like)]
Content = Annotated[
    Statement,
    Field(description="One statement, clear by itself, with names instead of pronouns."),
]
Confirmed = Annotated[
    bool,
    Field(
        description="True only if the user told you to remember it or said yes. Otherwise it may "
        "stay pending."
    ),
]
Operation = Literal["add_fact", "deactivate_fact", "add_poi", "add_poi_mention", "get_memory"]


class _Arguments(Input):
    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        # Many models send null for arguments they leave out.
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value is not None}


class AddToMemory(_Arguments):
    content: Content
    category: Category = Field(description="What it is about.")
    subject: Label | None = Field(
        None, description="The name of the person, project or thing that it is about."
    )
    further_fact: bool = Field(
        False,
        description="True only after a refusal because of a memory on the same subject, if yours "
        "neither changes nor repeats it.",
    )
    confirmed: Confirmed = False


class UpdateMemory(_Arguments):
    memory_id: MemoryRef = Field(description="Id of the memory, 8 letters and digits.")
    content: Statement = Field(description="The whole new statement, not the difference.")


class ForgetMemory(_Arguments):
    memory_id: MemoryRef = Field(description="Id of the memory, 8 letters and digits.")


class SavedAssociation(AssociationCreate):
    target_id: MemoryRef = Field(description="Id of the other memory.")


class MemorySave(_Arguments):
    content: Content
    memory_type: Literal[
        "identity", "fact", "preference", "decision", "goal", "todo", "event", "observation"
    ] = Field("fact", description="The kind of memory; some kinds fade more slowly.")
    importance: Importance | None = Field(
        None, description="From 0 to 1; by type unless given, which is right for most."
    )
    source: Label | None = Field(
        None, description="The source, if it is not this conversation: a file, a page."
    )
    channel_id: Key | None = Field(None, description="The channel of the conversation, if known.")
    user_id: str | None = Field(None, description="The current user. No other user is allowed.")
    shared: bool = Field(
        False,
        description="True only for decisions and facts about the world or a team that every user "
        "may know and that are about no single user.",
    )
    expires_at: Expiry | None = Field(
        None, description="A time with its zone, from which on it is worth nothing."
    )
    associations: list[SavedAssociation] = Field(
        [],
        max_length=50,
        description="Memories that it updates, contradicts or results from.",
    )
    confirmed: Confirmed = False

    @model_validator(mode="after")
    def _has_one_owner(self) -> "MemorySave":
        if self.shared and self.user_id is not None:
            raise ValueError("shared: a shared memory has no user_id; leave one of them out")
        return self


class MemoryRecall(_Arguments):
    query: Statement | None = Field(
        None, description="A question, or words. Needed in mode hybrid."
    )
    max_results: int = Field(10, ge=1, le=50)
    memory_type: Kind | None = Field(None, description="Memories of this type only.")
    mode: Mode | None = Field(
        None,
        description="hybrid: the best matches for the query (the default with one). recent, "
        "important: memories in that order. typed: the most important of memory_type.",
    )
    sort_by: Sort | None = Field(None, description="Order of the results.")
    min_relevance: float = Field(
        MIN_RELEVANCE,
        ge=0,
        le=1,
        description="In mode hybrid: leave it out for what has to do with the query; 0 for the "
        "nearest, whatever it is about.",
    )
    space: Label | None = Field(
        None,
        description="If the user asks about a space, a subject such as a relative or a project: "
        "its name. Nothing else is searched then.",
    )
    user_id: str | None = Field(None, description="The current user. No other user is allowed.")

    @model_validator(mode="after")
    def _has_what_its_mode_needs(self) -> "MemoryRecall":
        # In the words of the tool: a model does not know the fields of a query.
        if self.mode is Mode.TYPED and self.memory_type is None:
            raise ValueError("memory_type: mode typed needs it")
        hybrid = (self.query is not None and self.mode is None) or self.mode is Mode.HYBRID
        if self.sort_by is Sort.RELEVANCE and not hybrid:
            raise ValueError("sort_by: relevance needs mode hybrid")
        return self


_REQUIRED: dict[str, tuple[str, ...]] = {
    "add_fact": ("content",),
    "deactivate_fact": ("fact_id",),
    "add_poi": ("place_id", "place_name"),
    "add_poi_mention": ("place_id",),
    "get_memory": (),
}


class ManageUserMemory(_Arguments):
    operation: Operation
    content: Statement | None = Field(None, description="For add_fact: the fact to remember.")
    fact_id: MemoryRef | None = Field(
        None, description="For deactivate_fact: the id of the fact, from get_memory."
    )
    place_id: Key | None = Field(
        None,
        description="For add_poi and add_poi_mention: a unique id of the place, such as its id on "
        "a map, or a short name.",
    )
    place_name: Label | None = Field(
        None, description="For add_poi: the user's name for the place."
    )
    notes: Notes | None = Field(
        None, description="For add_poi: an address, and why the place matters."
    )
    page: int = Field(
        1, ge=1, le=1_000_000, description="For get_memory: 1, or the next_page of the last answer."
    )
    confirmed: Confirmed = False

    @model_validator(mode="after")
    def _has_required_arguments(self) -> "ManageUserMemory":
        for name in _REQUIRED[self.operation]:
            if getattr(self, name) is None:
                raise ValueError(f"{name}: required for {self.operation}")
        return self


assert set(_REQUIRED) == set(get_args(Operation))
