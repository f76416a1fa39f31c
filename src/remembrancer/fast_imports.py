"""Import modules without garbage collection, which saves a fifth of the start time."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
