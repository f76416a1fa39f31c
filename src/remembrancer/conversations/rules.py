"""Owners and placements of messages. Pure."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from remembrancer.access import (
    STAFF,
    Actor,
    EffectiveScope,
    Placement,
    Role,
    Scope,
    Visibility,
    may_change,
)
from remembrancer.conversations.schemas import MessageCreate, MessageRole
from remembrancer.errors import InvalidInput

RECALLED = frozenset({MessageRole.USER, MessageRole.ASSISTANT})
"""Roles whose messages are recalled; prompts and tool output are not."""

WINDOW = 20
"""Messages of a conversation that an agent sees. `conversations.is_behind` has the same number."""


def check_lengths(messages: Sequence[MessageCreate], *, batch: int, characters: int) -> None:
    """Raise ``InvalidInput`` unless the batch and every content is within its limit."""
    if not messages:
        raise InvalidInput("must have at least one message", field="messages")
    if len(messages) > batch:
        raise InvalidInput(f"must have at most {batch:,} messages", field="messages")
    for index, message in enumerate(messages):
        check_length(message.content, characters, f"messages.{index}.content")


def check_length(content: str, characters: int, field: str = "content") -> None:
    """Raise ``InvalidInput`` unless the content of a message is within the limit."""
    if len(content) > characters:
        raise InvalidInput(f"must have at most {characters:,} characters", field=field)


def owners(
    messages: Sequence[MessageCreate],
    senders: Sequence[UUID | None],
    *,
    acting_for: UUID | None,
    last_sender: UUID | None,
) -> list[UUID]:
    """Return the owner of each message: its sender, or the user it answers.

    ``senders`` are the users that messages name. Raises ``InvalidInput`` for a message without
    an owner.
    """
    answered = None
    owners = []
    for index, (message, sender) in enumerate(zip(messages, senders, strict=True)):
        from_user = message.role is MessageRole.USER
        owner = sender or (acting_for if from_user else answered or acting_for or last_sender)
        if owner is None:
            raise InvalidInput(
                "must be set, unless the message has a platform_user_id or the request a user",
                field=f"messages.{index}.user_id",
            )
        if from_user:
            answered = owner
        owners.append(owner)
    return owners


def check_senders(
    messages: Sequence[MessageCreate],
    owner_ids: Sequence[UUID],
    linked: Mapping[str, str],
    *,
    reader: UUID | None,
) -> None:
    """Raise ``InvalidInput`` where two different users are named as the sender.

    ``linked`` are the users behind ids on the platform. The ``reader`` of a turn is its sender.
    """
    for index, (message, owner_id) in enumerate(zip(messages, owner_ids, strict=True)):
        by_platform = linked.get(message.platform_user_id or "", str(owner_id))
        if message.user_id is not None and by_platform != str(owner_id):
            reason, field = "belongs to another user than user_id", "platform_user_id"
        elif reader not in {None, owner_id}:
            reason = "names another user than the request; leave one of them out"
            field = "platform_user_id" if message.user_id is None else "user_id"
        else:
            continue
        raise InvalidInput(reason, field=f"messages.{index}.{field}")


def may_edit(actor: Actor, owner_id: UUID) -> bool:
    """Return whether ``actor`` may edit and delete the messages of ``owner_id``.

    Their own. A service without a user is the agent itself, and passes on what a platform says.
    """
    is_agent = actor.user_id is None and actor.role in STAFF
    return is_agent or actor.role is Role.ADMIN or may_change(actor, owner_id)


def placement(
    owner_id: UUID,
    *,
    agent_id: UUID | None,
    scope: EffectiveScope | None,
    space_id: UUID | None,
    visibility: Visibility,
) -> Placement:
    """Return the placement of an owner's message.

    What is private goes to the owner's namespace, in a space too.
    """
    shared = space_id is not None and visibility is Visibility.SHARED
    private_to_agent = not shared and scope is not None and scope.scope is Scope.AGENT
    return Placement(
        owner_id,
        agent_id if private_to_agent else None,
        space_id,
        Visibility.SHARED if shared else Visibility.PRIVATE,
    )
