"""The arguments of the memory tools, as models fill them in."""

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from remembrancer.memories.schemas import AssociationCreate, Category, Importance, Kind
from remembrancer.places.schemas import Notes
from remembrancer.recall.schemas import Mode, Sort
from remembrancer.text import Key, Label, Statement

_SHOWN_ID = re.compile(r"^\[?\s*(?:id:)?\s*([0-9A-Za-z]+)\s*\]?$")


def _as_shown(value: Any) -> Any:
    """Return an id without what it is shown in: ``[id:a1B2c3D4]``."""
    found = _SHOWN_ID.match(value.strip()) if isinstance(value, str) else None
    return found[1] if found else value


MemoryRef = Annotated[str, BeforeValidator(_as_shown), Field(min_length=1, max_length=64)]
Content = Annotated[
    Statement,
    Field(
        description="One statement that can be understood by itself, in one or two sentences, "
        "with names instead of pronouns."
    ),
]
Confirmed = Annotated[
    bool,
    Field(
        description="True only if the user told you to remember it, or said yes when you asked; "
        "else it may have to wait until they confirm it."
    ),
]
Operation = Literal["add_fact", "deactivate_fact", "add_poi", "add_poi_mention", "get_memory"]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        # Many models fill in null for what they leave out.
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None}


class AddToMemory(_Arguments):
    """Arguments of ``add_to_memory``."""

    content: Content
    category: Category = Field(description="What it is about.")
    subject: Label | None = Field(
        None, description="Whom or what it is about: the name of a person, a project, a thing."
    )
    allow_similar: bool = Field(
        False, description="True only after this call was refused because of a similar memory."
    )
    confirmed: Confirmed = False


class UpdateMemory(_Arguments):
    """Arguments of ``update_memory``."""

    memory_id: MemoryRef = Field(description="Id of the memory, 8 letters and digits.")
    content: Content


class ForgetMemory(_Arguments):
    """Arguments of ``forget_memory``."""

    memory_id: MemoryRef = Field(description="Id of the memory, 8 letters and digits.")


class SavedAssociation(AssociationCreate):
    """A link from a memory that is saved to one that is there."""

    target_id: MemoryRef = Field(description="Id of the other memory.")


class MemorySave(_Arguments):
    """Arguments of ``memory_save``."""

    content: Content
    memory_type: Literal[
        "identity", "fact", "preference", "decision", "goal", "todo", "event", "observation"
    ] = Field("fact", description="How it behaves: what matters longer fades later.")
    importance: Importance | None = Field(
        None, description="From 0 to 1; by type unless given, which is right for most."
    )
    source: Label | None = Field(
        None, description="Where it is from, if not from this conversation: a file, a page."
    )
    channel_id: Key | None = Field(None, description="The channel it was said in, if known.")
    user_id: str | None = Field(
        None, description="Whose memory it is: the current user, and nobody else."
    )
    shared: bool = Field(
        False,
        description="True only for decisions and facts about the world or a team that are to be "
        "known to every user, and about none of them.",
    )
    associations: list[SavedAssociation] = Field(
        [], max_length=50, description="Memories that it updates, contradicts or comes from."
    )
    confirmed: Confirmed = False

    @model_validator(mode="after")
    def _is_of_somebody_or_everybody(self) -> "MemorySave":
        if self.shared and self.user_id is not None:
            raise ValueError("shared: what is everybody's has no user_id")
        return self


class MemoryRecall(_Arguments):
    """Arguments of ``memory_recall``."""

    query: Statement | None = Field(
        None, description="What to look for, as a question or in words. Needed in mode hybrid."
    )
    max_results: int = Field(10, ge=1, le=50)
    memory_type: Kind | None = Field(None, description="Memories of this type only.")
    mode: Mode | None = Field(
        None,
        description="hybrid: what helps with the query (the default with one). recent, important: "
        "memories in that order. typed: the weightiest of memory_type.",
    )
    sort_by: Sort | None = Field(None, description="Order of what was found.")
    user_id: str | None = Field(None, description="The current user, and nobody else.")


_NEEDED: dict[str, tuple[str, ...]] = {
    "add_fact": ("content",),
    "deactivate_fact": ("fact_id",),
    "add_poi": ("place_id", "place_name"),
    "add_poi_mention": ("place_id",),
    "get_memory": (),
}


class ManageUserMemory(_Arguments):
    """Arguments of ``manage_user_memory``."""

    operation: Operation
    content: Statement | None = Field(None, description="For add_fact: the fact to remember.")
    fact_id: MemoryRef | None = Field(
        None, description="For deactivate_fact: the id of the fact, from get_memory."
    )
    place_id: Key | None = Field(
        None,
        description="For add_poi and add_poi_mention: what tells the place from others, such as "
        "its id on a map, or a short name.",
    )
    place_name: Label | None = Field(
        None, description="For add_poi: what the user calls the place."
    )
    notes: Notes | None = Field(
        None, description="For add_poi: an address, and why the place matters."
    )
    page: int = Field(
        1, ge=1, le=1_000_000, description="For get_memory: 1, or the next_page it answered."
    )
    confirmed: Confirmed = False

    @model_validator(mode="after")
    def _has_what_the_operation_needs(self) -> "ManageUserMemory":
        for name in _NEEDED[self.operation]:
            if getattr(self, name) is None:
                raise ValueError(f"{name}: {self.operation} needs it")
        return self


assert set(_NEEDED) == set(get_args(Operation))
