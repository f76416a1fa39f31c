"""Help a process to start: imports without garbage collection, and less memory afterwards.

Collecting garbage takes a fifth of the start time.
"""

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector, and exempt new modules from later collections."""
    modules_before = len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if len(sys.modules) > modules_before:
            gc.freeze()
        gc.enable()


def return_free_memory() -> None:
    """Give the system back what is free after a start; glibc keeps it."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
