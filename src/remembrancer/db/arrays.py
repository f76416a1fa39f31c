"""Arrays of numbers for statements, in Postgres' binary form: psycopg converts one by one."""

from struct import pack
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from remembrancer.db.pipeline import Binary

_TYPES: Final = {">i2": 21, ">i4": 23, ">i8": 20, ">f4": 700}
"""The oids of Postgres' types, by numpy's."""


def array(numbers: NDArray[Any], kind: str) -> Binary:
    """Return numbers as an array; ``kind`` is a key of ``_TYPES``, such as >f4 for ``real``."""
    items = np.empty(numbers.size, [("size", ">i4"), ("number", kind)])
    items["size"] = items.dtype["number"].itemsize
    items["number"] = numbers.ravel()
    # One dimension, no nulls, the type, the length and the first index.
    return Binary(pack(">iiiii", 1, 0, _TYPES[kind], numbers.size, 1) + items.tobytes())
