"""Decisions about statements, without a database."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import pytest

from remembrancer import InvalidInput, Kind, MemoryCreate, NotFound, Outcome, Scope, ScopeSource
from remembrancer.access import EffectiveScope, Placement, Visibility
from remembrancer.ids import SHARED_OWNER
from remembrancer.memories import rules
from remembrancer.memories.dedup import Candidate, ExistingMemories, Verdict, judge

ADA, AGENT, SPACE = uuid4(), uuid4(), uuid4()
IN_AGENT = EffectiveScope(Scope.AGENT, ScopeSource.AGENT_DEFAULT)
IN_GLOBAL = EffectiveScope(Scope.GLOBAL, ScopeSource.ADMIN_OVERRIDE)


def _destination(*, user=ADA, agent=AGENT, effective=IN_AGENT, **fields):
    statement = MemoryCreate(content="x", **fields)
    return rules.destination(statement, user_id=user, agent_id=agent, effective=effective)


def test_every_kind_has_a_default_importance() -> None:
    """No kind falls back to an accident, and all weigh between 0 and 1."""
    assert set(rules.DEFAULT_IMPORTANCE) == set(Kind)
    assert all(0 < weight <= 1 for weight in rules.DEFAULT_IMPORTANCE.values())


@pytest.mark.parametrize(
    ("wanted", "effective", "agent", "changed"),
    [
        (None, IN_AGENT, AGENT, False),
        (None, IN_GLOBAL, None, False),
        (Scope.GLOBAL, IN_AGENT, None, False),
        (Scope.AGENT, IN_AGENT, AGENT, False),
        (Scope.AGENT, IN_GLOBAL, None, True),
    ],
)
def test_one_s_own_memory_goes_where_the_effective_scope_says(
    wanted, effective, agent, changed
) -> None:
    """Agent scope that is not in effect is stored globally, and the answer says so."""
    result = _destination(scope=wanted, effective=effective)
    assert result.placement == Placement(ADA, agent)
    assert (result.changed, result.source) == (changed, effective.source)


def test_without_an_agent_a_memory_is_global() -> None:
    """Nobody asked through an agent, so no agent alone has it."""
    result = _destination(agent=None, effective=None)
    assert (result.placement, result.scope, result.source) == (Placement(ADA), Scope.GLOBAL, None)


def test_shared_knowledge_belongs_to_nobody() -> None:
    """Whoever writes it; for every agent, unless agent scope is asked for."""
    assert _destination(shared=True).placement == Placement(SHARED_OWNER)
    assert _destination(shared=True, user=None).placement == Placement(SHARED_OWNER)
    assert _destination(shared=True, scope="agent").placement == Placement(SHARED_OWNER, AGENT)


def test_a_shared_fact_is_usable_by_every_agent_and_a_private_one_follows_the_scope() -> None:
    """Both lie in the space."""
    shared = _destination(space_id=SPACE, visibility=Visibility.SHARED).placement
    assert shared == Placement(ADA, None, SPACE, Visibility.SHARED)
    for effective, agent in ((IN_AGENT, AGENT), (IN_GLOBAL, None)):
        result = _destination(space_id=SPACE, effective=effective)
        assert result.placement == Placement(ADA, agent, SPACE)
        assert result.source == effective.source


def test_what_cannot_be_placed_is_refused_by_name() -> None:
    """Agent scope needs an agent, and a private memory a person."""
    with pytest.raises(InvalidInput, match="agent_id"):
        _destination(agent=None, scope="agent", effective=None)
    with pytest.raises(InvalidInput, match="user_id"):
        _destination(user=None, effective=None)


def test_a_statement_is_its_words_and_its_interval() -> None:
    """The same words at another time are another statement, in another zone they are not."""
    january = datetime(2026, 1, 1, tzinfo=UTC)
    june = datetime(2026, 6, 1, tzinfo=UTC)
    elsewhere = january.astimezone(timezone(timedelta(hours=14)))
    hashes = [
        rules.statement_hash("On Payments", start, end)
        for start, end in ((None, None), (january, None), (None, january), (june, None))
    ]
    assert len(set(hashes)) == 4
    assert rules.statement_hash("on  Payments.", elsewhere, None) == hashes[1]


@pytest.mark.parametrize("name", ["content", "memories.7.content"])
def test_a_length_is_refused_from_the_first_character_over_it(name: str) -> None:
    """The limit itself is allowed; the refusal names the field it was given."""
    rules.check_length("x" * 10, characters=10, field=name)
    with pytest.raises(InvalidInput) as refused:
        rules.check_length("x" * 11, characters=10, field=name)
    assert refused.value.field == name


def test_a_batch_is_checked_before_any_of_it_is_taken() -> None:
    """None, too many, or one too long: each names what is wrong."""
    fine, long = MemoryCreate(content="x"), MemoryCreate(content="x" * 11)
    rules.check_batch([fine] * 3, batch=3, characters=10)
    for batch, field in (
        ([], "memories"),
        ([fine] * 4, "memories"),
        ([fine, long], "memories.1.content"),
        ([long], "memories.0.content"),
    ):
        with pytest.raises(InvalidInput) as refused:
            rules.check_batch(batch, batch=3, characters=10)
        assert refused.value.field == field


@pytest.mark.parametrize("wrong", ["", "a b", "a\x00", "ä", "\ud800", "a-b", "x" * 65, "٣"])
def test_what_cannot_be_an_id_is_not_found(wrong: str) -> None:
    """No question to the database about what no memory can be called."""
    with pytest.raises(NotFound):
        rules.check_id(wrong)
    rules.check_id("a1B2c3D4")


# What is new ---------------------------------------------------------------------------

HERE, ELSEWHERE = Placement(ADA), Placement(ADA, AGENT)


def _candidate(content: str, *, placement=HERE, subject=None, **fields):
    return Candidate(
        placement=placement,
        hash=rules.statement_hash(content, None, None),
        subject_key=subject,
        allow_similar=fields.get("allow_similar", False),
    )


def _judged(*candidates: Candidate, known: ExistingMemories | None = None) -> list[Verdict]:
    ids = [f"new{n}" for n in range(len(candidates))]
    return judge(candidates, known or ExistingMemories(), ids)


def test_a_batch_is_held_against_itself() -> None:
    """The same words twice in one batch are one memory and a mention of it."""
    one = _candidate("I like tea")
    assert _judged(one, one, one) == [
        Verdict(Outcome.CREATED, "new0"),
        Verdict(Outcome.MENTIONED, "new0"),
        Verdict(Outcome.MENTIONED, "new0"),
    ]


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [
        ("The gate is 12.", Outcome.MENTIONED),
        ("the gate  is 12", Outcome.MENTIONED),
        ("The gate is 13", Outcome.CREATED),
        ("Gate is 12", Outcome.CREATED),
    ],
)
def test_a_statement_is_a_mention_only_of_the_same_one(statement: str, outcome: Outcome) -> None:
    """Alike is not the same: in another place, or with another word, it is new."""
    known = ExistingMemories(same={(HERE, rules.statement_hash("The gate is 12", None, None)): "x"})
    [here, elsewhere] = _judged(
        _candidate(statement), _candidate(statement, placement=ELSEWHERE), known=known
    )
    assert (here.outcome, elsewhere.outcome) == (outcome, Outcome.CREATED)


def test_a_known_subject_is_suggested_unless_the_writer_insists() -> None:
    """Neither a duplicate nor new: perhaps an update of what is there."""
    known = ExistingMemories(subjects={(HERE, "ada"): "old"})
    verdicts = _judged(
        _candidate("Ada is 31", subject="ada"),
        _candidate("Ada plays chess", subject="ada", allow_similar=True),
        _candidate("Ada sings", subject="ada", placement=ELSEWHERE),
        known=known,
    )
    assert verdicts == [
        Verdict(Outcome.SIMILAR, "old"),
        Verdict(Outcome.CREATED, "new0"),
        Verdict(Outcome.CREATED, "new1"),
    ]
