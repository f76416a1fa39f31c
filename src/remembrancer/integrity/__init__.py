"""Whether the store is whole: what must be so, what is not, and what to do about it."""

from remembrancer.integrity.service import check

__all__ = ["check"]
