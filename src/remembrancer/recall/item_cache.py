"""Items of owners in memory: a recall chooses its candidates here, without a scan in Postgres.

What is here is a guess, and so is a ranking of it. The recall's round trip reads what was chosen,
or the hits, under the visibility rule and row-level security, and says afterwards what has changed
since (``sql/changes.sql``). If anything has, its rows are dropped and the recall starts again. So
nothing is stale, and nobody sees what the rule does not allow
(docs/decisions/0046-items-in-memory.md, 0053-rank-before-the-trip.md).
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, TypeVar
from uuid import UUID

import numpy as np

from remembrancer.access import Actor, Viewer, can_see
from remembrancer.ids import SHARED_OWNER
from remembrancer.recall.candidates import SOURCES, Mask
from remembrancer.recall.choice import Choice, Filters, Wish
from remembrancer.recall.owner_items import ChangeRow, OwnerItems
from remembrancer.recall.rows import CandidateRow

K = TypeVar("K")
V = TypeVar("V")

MOST_ITEMS: Final = 60_000
"""Items in memory, of all owners; with the bundled model, some 2 kB each."""
FEW = 30
"""Items up to which the database's search costs no more than this one."""
PAGE: Final = 2_000
"""Items that a recall reads for the next ones."""
UNUSED: Final = 600.0
"""Seconds after which the items of an owner are dropped who recalls nothing."""
MOST_GUESSES: Final = 10_000
SUPPORTED: Final = frozenset(
    {"source_types", "names", "told_in", "window", "told_from", "told_before", "per_days"}
)
"""Filters of a query whose candidates are chosen here."""


class ItemCache:
    """Items of those who recalled last, with what decides which of them an asker sees."""

    def __init__(self) -> None:
        self._owners: OrderedDict[UUID, OwnerItems] = OrderedDict()
        self._viewers: OrderedDict[tuple[UUID | None, UUID | None], Viewer] = OrderedDict()
        self._talks: OrderedDict[tuple[UUID | None, UUID], int | None] = OrderedDict()
        """The number of messages of a conversation; null for one that the asker does not see."""
        self._expired = False

    def viewer(self, actor: Actor) -> Viewer | None:
        """Return the viewer that an asker was; none for one whose items are not all here."""
        viewer = self._viewers.get((actor.user_id, actor.agent_id))
        owners = (self._owners.get(owner) for owner in owners_of(actor))
        is_here = all(owner is not None and owner.is_complete for owner in owners)
        return viewer if is_here and viewer and not viewer.spaces else None

    def choose(self, actor: Actor, wish: Wish) -> Choice | None:
        """Return the items to start from; none where memory does not have what it takes."""
        viewer, filters = self.viewer(actor), wish.filters
        if viewer is None or self._expired or not filters.keys() <= SUPPORTED:
            return None
        if "window" in filters and (actor.user_id, filters["told_in"]) not in self._talks:
            return None
        seen = []
        for place, owner_id in enumerate(owners_of(actor), 1):
            owner = self._owners[owner_id]
            mask = self._seen(actor, owner, viewer, filters)
            if mask is None:
                return None
            if owner.count:
                seen.append((place, owner, mask))
        return Choice(seen, wish) if seen else None

    def _seen(
        self, actor: Actor, owner: OwnerItems, viewer: Viewer, filters: Filters
    ) -> Mask | None:
        columns = {name: column[: owner.count] for name, column in owner.columns.items()}
        visible = np.array([can_see(viewer, place) for place in owner.placements], dtype=bool)
        if "told_in" in filters and any(
            sees and place.space_id for sees, place in zip(visible, owner.placements, strict=True)
        ):
            return None
        seen: Mask = columns["current"].copy()
        if not visible.all():
            seen &= visible[columns["placement"]]
        if sources := filters.get("source_types"):
            seen &= np.array([source in sources for source in SOURCES])[columns["source"]]
        if "window" in filters:
            count = self._talks[actor.user_id, filters["told_in"]]
            last = -1 if count is None else count - filters["window"]
            told = owner.talks.get(filters["told_in"], -1)
            seen &= (columns["talk"] != told) | (np.maximum(columns["position"], 0) <= last)
        return seen

    def begin(self, actor: Actor, candidates: Sequence[CandidateRow]) -> None:
        """Have the next recalls read the items that an asker sees, if they are more than few."""
        if candidates and FEW < candidates[0].items <= MOST_ITEMS:
            for owner_id in owners_of(actor):
                self._owners.setdefault(owner_id, OwnerItems()).used = time.monotonic()

    def binds(self, actor: Actor, told_in: UUID | None) -> dict[str, object] | None:
        """Return the values of ``sql/changes.sql``; none for an asker without items here."""
        owners = [self._owners[owner] for owner in owners_of(actor) if owner in self._owners]
        if len(owners) < len(owners_of(actor)):
            return None
        return {
            "owners": [
                None if items.is_too_large else owner_id
                for owner_id, items in zip(owners_of(actor), owners, strict=True)
            ],
            "versions": [owner.version for owner in owners],
            "afters": [owner.after for owner in owners],
            "page": PAGE,
            "told_in": told_in,
        }

    def note(
        self, actor: Actor, viewer: Viewer, rows: Sequence[ChangeRow], told_in: UUID | None
    ) -> bool:
        """Note what a round trip says; return whether what was chosen before it holds."""
        key = actor.user_id, actor.agent_id
        holds = self._viewers.get(key) == viewer and not rows[0].expired
        self._expired = rows[0].expired
        _remember(self._viewers, key, viewer)
        if told_in is not None:
            talk, count = (actor.user_id, told_in), rows[0].message_count
            holds &= talk in self._talks and self._talks[talk] == count
            _remember(self._talks, talk, count)
        now = time.monotonic()
        for place, owner_id in enumerate(owners_of(actor), 1):
            owner = self._owners.setdefault(owner_id, OwnerItems())
            owner.used = now
            self._owners.move_to_end(owner_id)
            if owner.is_too_large:
                holds = False
            else:
                of_owner = [row for row in rows if row.place == place]
                holds &= owner.apply(owner_id, of_owner, page=PAGE)
        self._forget(now)
        return holds

    def _forget(self, now: float) -> None:
        total = sum(owner.count for owner in self._owners.values())
        while self._owners:
            owner_id, oldest = next(iter(self._owners.items()))
            if total <= MOST_ITEMS and oldest.used > now - UNUSED:
                return
            total -= oldest.count
            if oldest.count > MOST_ITEMS:
                oldest.void()
                oldest.is_too_large = True
                self._owners.move_to_end(owner_id)
            else:
                del self._owners[owner_id]


def owners_of(actor: Actor) -> tuple[UUID, ...]:
    """Return the owners whose items an asker without spaces may see."""
    return (SHARED_OWNER,) if actor.user_id is None else (actor.user_id, SHARED_OWNER)


def _remember(guesses: OrderedDict[K, V], key: K, value: V) -> None:
    guesses[key] = value
    guesses.move_to_end(key)
    if len(guesses) > MOST_GUESSES:
        guesses.popitem(last=False)
