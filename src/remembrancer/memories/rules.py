"""Decisions about statements: default importance, sameness, destination, limits. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from uuid import UUID

from remembrancer.access import EffectiveScope, Placement, Scope, ScopeSource, Visibility
from remembrancer.errors import InvalidInput, NotFound, PreconditionFailed, VersionConflict
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories.rows import MemoryRow
from remembrancer.memories.sameness import canonical
from remembrancer.memories.schemas import Kind, MemoryCreate, MemoryUpdate, Status
from remembrancer.text import normalised, one_line

DEFAULT_IMPORTANCE = {
    Kind.IDENTITY: 1.0,
    Kind.GOAL: 0.9,
    Kind.DECISION: 0.8,
    Kind.TODO: 0.8,
    Kind.PREFERENCE: 0.7,
    Kind.FACT: 0.6,
    Kind.PLACE: 0.6,
    Kind.EVENT: 0.4,
    Kind.OBSERVATION: 0.3,
}
"""Importance of each kind of memory, from 0 to 1, unless the writer sets another."""

MentionSource = tuple[UUID | None, UUID | None, datetime]
"""Conversation, message and time of a mention."""

LONGEST_ID = 64
"""Characters of the longest id."""
EXTERNAL = "external:"
"""Start of the argument that names a memory by the id of its writer."""
LONGEST_EXTERNAL_ID = 255


def is_in_use(status: str, recalled: bool) -> bool:
    """Say whether recall and prompts have a memory. Its SQL twin is ``memories.in_use``.

    ``recalled`` is false for a memory that its writer keeps out of recall; it is kept out of
    prompts too. Lists and the document show it.
    """
    return recalled and status == Status.ACTIVE


def forget_note(messages: int, similar: int) -> str:
    """Say what left recall with a forgotten memory, and how to bring it back or delete it."""
    which = "it" if messages == 0 else "both" if messages == 1 else "all of it"
    left = {
        0: "No message that says it was found.",
        1: "1 message that says it left recall and prompts too.",
    }
    still = {0: "", 1: " 1 similar message is still recalled."}
    return (
        left.get(messages, f"{messages} messages that say it left recall and prompts too.")
        + still.get(similar, f" {similar} similar messages are still recalled.")
        + f" Restore the memory to bring {which} back; erase the memory to delete {which} for good."
    )


def check_length(content: str, *, characters: int, field: str = "content") -> None:
    """Raise ``InvalidInput`` if a memory's content is longer than the limit."""
    if len(content) > characters:
        raise InvalidInput(f"must have at most {characters:,} characters", field=field)


def statement_hash(
    content: str,
    valid_from: datetime | None,
    valid_to: datetime | None,
    place_id: str | None = None,
    address: Sequence[str] | None = None,
    external_id: str | None = None,
) -> bytes:
    """Return the hash that equal statements share: of the canonical text and the interval.

    "Works on Payments" from January to February and again in June are two statements. So are
    two places of the same name. A record is hashed by its address alone, whatever it says, and a
    memory with an id of its writer by that.
    """
    if address is not None or external_id is not None:
        name = {"external_id": external_id} if address is None else list(address)
        return blake2b(json.dumps(name).encode(), digest_size=16).digest()
    digest = blake2b(canonical(content).encode(), digest_size=16)
    for moment in (valid_from, valid_to):
        digest.update(f"|{moment.timestamp()}".encode() if moment else b"|")
    if place_id is not None:
        digest.update(f"|{place_id}".encode())
    return digest.digest()


def place_content(name: str, notes: str | None) -> str:
    return f"{name}: {notes}" if notes else name


def notes_in(name: str, content: str) -> str | None:
    """Return the notes of a place: its content without the name at its start."""
    return None if content == name else content.removeprefix(f"{name}: ")


def check_version(memory: MemoryRow, expected: int | None, if_version: int | None) -> None:
    """Raise ``VersionConflict`` or ``PreconditionFailed`` unless the version is current."""
    reason = f"the memory is at version {memory.version} now"
    if expected not in {None, memory.version}:
        field = "expected_version"
        raise VersionConflict(reason, field=field, current_version=memory.version)
    if if_version not in {None, memory.version}:
        raise PreconditionFailed(reason, current_version=memory.version)


def check_place_change(memory: MemoryRow, changes: MemoryUpdate) -> None:
    """Raise ``InvalidInput`` if changes would leave a place without name or kind."""
    if memory.place_id is None:
        return
    if changes.kind not in {None, Kind.PLACE}:
        raise InvalidInput("must be place for a memory with a place id", field="kind")
    if "subject" in changes.model_fields_set:
        if changes.subject is None:
            raise InvalidInput("must not be null for a place", field="subject")
        if changes.content is None:
            raise InvalidInput(
                "must be set to rename a place: recall finds it by its content", field="content"
            )


def check_record_change(memory: MemoryRow, changes: MemoryUpdate) -> None:
    """Raise ``InvalidInput`` if changes would separate the text of a record from its value.

    Only the program that wrote a value can change its text.
    """
    if memory.address is None or "value" not in memory.metadata:
        return
    for field in ("content", "metadata"):
        if getattr(changes, field) is not None:
            raise InvalidInput(
                "this text comes from a stored value; "
                "update the record through the program that wrote it",
                field=field,
            )


def subject_key(subject: str | None) -> str | None:
    return normalised(subject) or None if subject else None


@dataclass(frozen=True, slots=True)
class Destination:
    """The placement of a new memory, its scope, and the source of that scope.

    ``changed`` says that agent scope was requested and global scope is in effect; ``unread``,
    that the agent does not read it, because global scope was requested and agent scope is in
    effect.
    """

    placement: Placement
    scope: Scope
    source: ScopeSource | None
    changed: bool
    unread: bool = False


def destination(
    statement: MemoryCreate,
    *,
    user_id: UUID | None,
    agent_id: UUID | None,
    effective: EffectiveScope | None,
) -> Destination:
    """Return the destination of a new memory.

    Shared knowledge and facts shared in a space are usable by every agent unless agent scope is
    requested. A user's own memories follow the effective scope, in a space too. Where that is
    global, a request for agent scope stores globally, and the result says so. Where it is agent, a
    request for global scope stores what this agent does not read outside of spaces, and the result
    says that too.
    """
    requested = statement.scope
    if requested is Scope.AGENT and agent_id is None:
        raise InvalidInput("must be set for agent scope", field="agent_id")
    if not statement.shared and user_id is None:
        raise InvalidInput("must name a user, unless shared is true", field="user_id")
    owner_id = SHARED_OWNER if statement.shared or user_id is None else user_id
    own = not statement.shared and statement.visibility is Visibility.PRIVATE
    in_effect = effective if own else None
    namespace = in_effect.scope if in_effect else Scope.GLOBAL
    if own:
        scope = Scope.GLOBAL if Scope.GLOBAL in {requested, namespace} else Scope.AGENT
    else:
        scope = requested or Scope.GLOBAL
    return Destination(
        Placement(
            owner_id,
            agent_id if scope is Scope.AGENT else None,
            statement.space_id,
            statement.visibility,
        ),
        scope,
        in_effect.source if in_effect else None,
        changed=requested is Scope.AGENT and scope is Scope.GLOBAL,
        unread=namespace is Scope.AGENT and scope is Scope.GLOBAL and statement.space_id is None,
    )


def check_batch(statements: Sequence[MemoryCreate], *, batch: int, characters: int) -> None:
    """Raise ``InvalidInput`` unless the batch and every content is within its limit."""
    if not statements:
        raise InvalidInput("must have at least one memory", field="memories")
    if len(statements) > batch:
        raise InvalidInput(f"must have at most {batch:,} memories", field="memories")
    for index, statement in enumerate(statements):
        field = f"memories.{index}.content"
        check_length(statement.content, characters=characters, field=field)


def status_at(memory: MemoryRow, now: datetime) -> Status:
    """Return the status at a time: an expired memory is forgotten, also before a sweep."""
    is_expired = memory.expires_at is not None and memory.expires_at <= now
    return Status.FORGOTTEN if is_expired else Status(memory.status)


def external_id(memory_id: str) -> str | None:
    """Return the writer's id in ``external:id``; null for an id of ours."""
    return memory_id.removeprefix(EXTERNAL) if memory_id.startswith(EXTERNAL) else None


def is_id(memory_id: str) -> bool:
    """Return whether a text can be an id of a memory, ours or ``external:`` and its writer's."""
    name = external_id(memory_id)
    if name is None:
        return 0 < len(memory_id) <= LONGEST_ID and memory_id.isascii() and memory_id.isalnum()
    try:
        return 0 < len(name) <= LONGEST_EXTERNAL_ID and bool(one_line(name))
    except ValueError:
        return False


def check_id(memory_id: str) -> None:
    if not is_id(memory_id):
        raise NotFound("no such memory", field="memory_id")
