"""Results of requests that change many memories."""

from uuid import UUID

from pydantic import BaseModel, Field


class ForgetManyResult(BaseModel):
    """Numbers of what was forgotten, or would be in a dry run."""

    dry_run: bool
    memories: int
    messages: int = Field(
        description="The owner's messages that say them. They left recall and prompts too."
    )
    similar_messages: int = Field(
        description="Messages still in recall that may say them: too different to be sure."
    )
    remaining: int = Field(
        description="Memories that match the filters and are left for further requests."
    )
    not_found: list[str] = Field(
        description="Those of `memory_ids` that are no active or pending memories of the user."
    )
    undo_id: UUID | None = Field(description="Id to undo it with; null if nothing changed.")


class ForgetUndoResult(BaseModel):
    """Result of undoing a request that forgot many memories."""

    returned: int = Field(description="Memories that are as they were.")
    stayed: int = Field(
        description="Memories that stayed: they were changed or erased since, or another memory "
        "has the same statement now."
    )
