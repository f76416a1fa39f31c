"""Help a process to start: imports without garbage collection, and less memory afterwards.

Collecting garbage takes a fifth of the start time.
"""

import ctypes
import gc
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h


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


def build_models_later() -> None:
    """Build models of all packages when they are first used: a third of a server's imports.

    For programs of this package only, since it is for the whole process.
    """
    from pydantic import BaseModel  # noqa: PLC0415 - `--help` needs none
    from pydantic.warnings import UnsupportedFieldAttributeWarning  # noqa: PLC0415

    BaseModel.model_config["defer_build"] = True
    # FastAPI ignores it while it makes a field, but now the field is built later.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)


def share_one_heap() -> None:
    """Let all threads allocate from one heap, before there are any: glibc gives each its own."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def return_free_memory() -> None:
    """Give the system back what is free after a start; glibc keeps it."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
