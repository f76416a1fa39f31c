"""Whose a message is, and where it lies."""

from uuid import uuid4

import pytest

from remembrancer import (
    ConversationCreate,
    InvalidInput,
    MessageCreate,
    MessageRole,
    ResolveUser,
    Scope,
    ScopeSource,
)
from remembrancer.access import EffectiveScope, Placement, Visibility
from remembrancer.conversations import rules
from remembrancer.users.schemas import NewLink
from remembrancer.validation import validate

ADA, BOB, AGENT, SPACE = uuid4(), uuid4(), uuid4(), uuid4()
PRIVATE, SHARED = Visibility


def _owners(*roles_and_senders, acting_for=None, last_sender=None):
    messages = [MessageCreate(role=role, content="x") for role, _ in roles_and_senders]
    senders = [sender for _, sender in roles_and_senders]
    return rules.owners(messages, senders, acting_for=acting_for, last_sender=last_sender)


def test_an_answer_belongs_to_whom_it_answers() -> None:
    """The sender before it in the batch, the user of the request, or the last stored sender."""
    assert _owners(("user", ADA), ("assistant", None), ("user", BOB), ("tool", None)) == [
        ADA,
        ADA,
        BOB,
        BOB,
    ]
    assert _owners(("user", BOB), ("assistant", None), acting_for=ADA) == [BOB, BOB]
    assert _owners(("assistant", None), last_sender=BOB) == [BOB]
    assert _owners(("assistant", None), last_sender=BOB, acting_for=ADA) == [ADA]


def test_a_message_that_names_nobody_is_of_the_one_the_request_is_for() -> None:
    """And of nobody else, whoever spoke before."""
    assert _owners(("user", None), acting_for=ADA, last_sender=BOB) == [ADA]


def test_a_message_nobody_can_be_found_for_is_refused_by_its_place() -> None:
    """The field says which of the messages it is."""
    with pytest.raises(InvalidInput) as refused:
        _owners(("user", ADA), ("user", None))
    assert refused.value.field == "messages.1.user_id"


@pytest.mark.parametrize(
    ("agent", "scope", "space", "visibility", "expected"),
    [
        (None, None, None, PRIVATE, Placement(ADA)),
        (AGENT, Scope.GLOBAL, None, PRIVATE, Placement(ADA)),
        (AGENT, Scope.AGENT, None, PRIVATE, Placement(ADA, AGENT)),
        (AGENT, Scope.GLOBAL, SPACE, PRIVATE, Placement(ADA, None, SPACE)),
        (AGENT, Scope.AGENT, SPACE, PRIVATE, Placement(ADA, AGENT, SPACE)),
        (AGENT, Scope.AGENT, SPACE, SHARED, Placement(ADA, None, SPACE, SHARED)),
    ],
)
def test_a_private_message_lies_in_its_owners_namespace_in_a_space_too(
    agent, scope, space, visibility, expected
) -> None:
    """The same two namespaces as memories; what is shared is for every agent."""
    effective = EffectiveScope(scope, ScopeSource.AGENT_DEFAULT) if scope else None
    place = rules.placement(
        ADA, agent_id=agent, scope=effective, space_id=space, visibility=visibility
    )
    assert place == expected


def test_prompts_and_tool_output_are_not_recalled() -> None:
    """They are not what anybody said."""
    assert {MessageRole.USER, MessageRole.ASSISTANT} == rules.RECALLED


def test_messages_are_checked_one_by_one() -> None:
    """None, too many, one too long: named."""
    fine, long = MessageCreate(content="x"), MessageCreate(content="x" * 11)
    rules.check_lengths([fine] * 3, batch=3, characters=10)
    for batch, field in (
        ([], "messages"),
        ([fine] * 4, "messages"),
        ([fine, long], "messages.1.content"),
    ):
        with pytest.raises(InvalidInput) as refused:
            rules.check_lengths(batch, batch=3, characters=10)
        assert refused.value.field == field


@pytest.mark.parametrize("platform", ["bad platform", "dis\u00a0cord"])
def test_a_platform_has_no_blank(platform: str) -> None:
    """It is a mistake: no platform is called so."""
    person = {"platform": platform, "platform_user_id": "5"}
    for model, values in (
        (ResolveUser, {**person, "display_name": "Ada"}),
        (NewLink, person),
        (ConversationCreate, {"platform": platform}),
    ):
        with pytest.raises(InvalidInput, match="platform: must have no blank"):
            validate(model, **values)
