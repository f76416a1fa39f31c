"""Rules of addresses, versions and times to live. Pure."""

from collections.abc import Collection, Mapping
from datetime import timedelta

from remembrancer.errors import InvalidInput, VersionConflict
from remembrancer.records.schemas import Address, RecordWrite
from remembrancer.text import storable

LONGEST_NAME = 255
"""Characters of the longest name in an address."""
MOST_NAMES = 64
LONGEST_ADDRESS = 2000
"""Bytes of all names of an address together: what fits into an index."""


def check_address(address: Address) -> None:
    if not 2 <= len(address) <= MOST_NAMES:
        raise InvalidInput(f"must have from 2 to {MOST_NAMES} names", field="address")
    for name in address:
        if not 0 < len(name) <= LONGEST_NAME:
            raise InvalidInput(
                f"each name must have from 1 to {LONGEST_NAME} characters", field="address"
            )
        try:
            storable(name)
        except ValueError as error:
            raise InvalidInput(str(error), field="address") from None
    if sum(len(name.encode()) for name in address) > LONGEST_ADDRESS:
        raise InvalidInput(f"must have at most {LONGEST_ADDRESS:,} bytes", field="address")


def check_ttl(ttl: float | None) -> None:
    if ttl is not None and not 0 < ttl <= 1_000_000_000:
        raise InvalidInput("must be more than 0 and at most 1,000,000,000 minutes", field="ttl")


def is_used_up(ttl: float | None, left: timedelta) -> bool:
    """Return whether a read restarts the time to live: once 5 percent of it is over.

    So reads in a row write nothing.
    """
    return ttl is not None and left < timedelta(minutes=ttl) * 0.95


def check_expected(write: RecordWrite, version: int | None) -> None:
    if write.expected_version not in {None, version or 0}:
        raise VersionConflict(
            f"the record is at version {version or 0} now",
            field="expected_version",
            current_version=version or 0,
        )


def new_addresses(
    addresses: Collection[Address], old: Address, new: Address
) -> Mapping[Address, Address]:
    """Return the new address of each record at and under ``old``, which becomes ``new``."""
    return {a: (*new, *a[len(old) :]) for a in addresses if a[: len(old)] == old}
