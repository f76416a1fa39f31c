"""Imports without a look for garbage in what stays: a fifth of the time of a start."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Do something with the collector off; what it has made is never looked through again.

    Nothing is different where nothing was imported meanwhile.
    """
    known = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > known:
            gc.freeze()
        gc.enable()
