"""Decisions about statements, without a database."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import numpy as np
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


def test_a_fact_of_a_space_is_usable_by_every_agent() -> None:
    """Its place is the space, whatever namespace its author's own memories go to."""
    for visibility in Visibility:
        placement = _destination(space_id=SPACE, visibility=visibility).placement
        assert placement == Placement(ADA, None, SPACE, visibility)


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
    assert rules.statement_hash("ON  payments.", elsewhere, None) == hashes[1]


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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The gate is 12.", "The gate is 13.", False),
        ("I eat meat.", "I do not eat meat.", False),
        ("From 2 to 5.", "From 5 to 2.", False),
        ("She says Ada taught Bob.", "She says Bob taught Ada.", False),
        ("I can swim.", "I can't swim.", False),
        ("My brother Tom lives here.", "My brother Tim lives here.", False),
        ("Ich esse Fleisch.", "Ich esse kein Fleisch.", False),
        ("My seat is on the left.", "My seat is on the right.", False),
        ("Before lunch I take the pill.", "After lunch I take the pill.", False),
        ("I lent my brother a bike.", "My brother lent me a bike.", False),
        ("Open monday to tuesday.", "Open tuesday to monday.", False),
        ("Ada was my boss.", "Ada is my boss.", False),
        ("I like tea.", "i really like Tea", True),
        ("The user's zone is UTC.", "User\u2019s zone is UTC!", True),
        ("I cannot swim.", "I can\u2019t swim.", True),
        ("The flight is at 9:30", "Flight is at 9:30.", True),
    ],
)
def test_only_fillers_may_differ_between_near_duplicates(one: str, other: str, same: bool) -> None:
    """What embeddings call almost equal may differ in the one word that matters."""
    assert rules.says_the_same(one, other) is same
    assert rules.says_the_same(other, one) is same


# What is new ---------------------------------------------------------------------------

HERE, ELSEWHERE = Placement(ADA), Placement(ADA, AGENT)


def _candidate(content: str, *, vector=(1.0, 0.0), placement=HERE, subject=None, **fields):
    return Candidate(
        content=content,
        placement=placement,
        kind=fields.get("kind", Kind.FACT),
        interval=fields.get("interval", (None, None)),
        hash=rules.statement_hash(content, None, None),
        vector=np.array(vector, dtype=np.float32),
        subject_key=subject,
        allow_similar=fields.get("allow_similar", False),
    )


def _judged(*candidates: Candidate, known: ExistingMemories | None = None) -> list[Verdict]:
    ids = [f"new{n}" for n in range(len(candidates))]
    return judge(candidates, known or ExistingMemories(), ids, 0.95)


def test_a_batch_is_held_against_itself() -> None:
    """The same words twice in one batch are one memory and a mention of it."""
    one = _candidate("I like tea")
    assert _judged(one, one, one) == [
        Verdict(Outcome.CREATED, "new0"),
        Verdict(Outcome.MENTIONED, "new0"),
        Verdict(Outcome.MENTIONED, "new0"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"place": ELSEWHERE},
        {"kind": Kind.TODO},
        {"interval": (1, None)},
        {"vector": (0.9, 0.436)},
    ],
)
def test_near_is_only_what_lies_in_the_same_place_kind_and_interval(other) -> None:
    """What differs in one of them, or in meaning, is new."""
    verdicts = _judged(_candidate("I like tea"), _candidate("I love tea", **other))
    assert [verdict.outcome for verdict in verdicts] == [Outcome.CREATED] * 2


def test_a_near_duplicate_is_a_mention_unless_a_telling_word_differs() -> None:
    """Similar vectors are not enough: numbers and negations must agree."""
    known = ExistingMemories(near={0: ("old", "The gate is 12"), 1: ("old", "The gate is 12")})
    verdicts = _judged(
        _candidate("gate is really 12", vector=(0.0, 1.0)),
        _candidate("The gate is 13", vector=(0.0, 1.0)),
        known=known,
    )
    assert verdicts == [Verdict(Outcome.MENTIONED, "old"), Verdict(Outcome.CREATED, "new0")]


def test_a_known_subject_is_suggested_unless_the_writer_insists() -> None:
    """Neither a duplicate nor new: perhaps an update of what is there."""
    known = ExistingMemories(subjects={(HERE, "ada"): "old"})
    verdicts = _judged(
        _candidate("Ada is 31", subject="ada"),
        _candidate("Ada plays chess", vector=(0.0, 1.0), subject="ada", allow_similar=True),
        _candidate("Ada sings", vector=(0.5, 0.5), subject="ada", placement=ELSEWHERE),
        known=known,
    )
    assert verdicts == [
        Verdict(Outcome.SIMILAR, "old"),
        Verdict(Outcome.CREATED, "new0"),
        Verdict(Outcome.CREATED, "new1"),
    ]
