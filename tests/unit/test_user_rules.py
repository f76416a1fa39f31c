"""What a day is, for somebody."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.users.rules import local_day


def _utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ("Pacific/Niue", _utc(2026, 3, 9, 11)),
        ("UTC", _utc(2026, 3, 9)),
        ("Pacific/Kiritimati", _utc(2026, 3, 9, 10)),
    ],
)
def test_yesterday_is_a_window_of_the_users_zone(zone: str, start: datetime) -> None:
    """At one instant, UTC-11, UTC+0 and UTC+14 have three different yesterdays."""
    instant = _utc(2026, 3, 10, 11, 30)
    assert local_day(instant, zone, 1) == (start, start + timedelta(days=1))


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", (2026, 3, 29), 23),
        ("Europe/Berlin", (2026, 10, 25), 25),
        ("Australia/Lord_Howe", (2026, 4, 5), 24.5),
        ("America/Sao_Paulo", (2018, 11, 4), 23),
        ("America/Sao_Paulo", (2018, 2, 17), 25),
        ("Pacific/Apia", (2011, 12, 30), 0),
    ],
)
def test_a_day_on_which_the_clocks_change_has_its_own_length(zone, day, hours) -> None:
    """Also where midnight itself is skipped or comes twice, or the whole day is."""
    noon_after = datetime(*day, 12, tzinfo=ZoneInfo(zone)) + timedelta(days=1)
    start, end = local_day(noon_after, zone, 1)
    assert end - start == timedelta(hours=hours)


@given(
    st.integers(0, 2**31).map(lambda second: datetime.fromtimestamp(second, UTC)),
    st.sampled_from(
        ["UTC", "Europe/London", "America/St_Johns", "America/Sao_Paulo", "Asia/Kathmandu"]
    ),
)
def test_days_follow_each_other_without_gap_or_overlap(instant: datetime, zone: str) -> None:
    """An instant lies in its day, and the day before ends where it starts."""
    start, end = local_day(instant, zone)
    assert start <= instant < end
    assert local_day(instant, zone, 1)[1] == start
