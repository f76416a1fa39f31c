"""Errors as one line with the field and the reason, and as an exit code."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from remembrancer.errors import MissingExtra

BUG = 1
REFUSED = 2
INTERRUPTED = 130


@contextmanager
def as_exit_code() -> Iterator[None]:
    """Turn any error into one line on stderr and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output, such as `head`, has ended
        _drop_output()
        sys.exit(1)
    except MissingExtra as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(REFUSED)
    except Exception as error:
        # Their import takes longer than the help, which needs neither.
        from remembrancer.cli.explanations import explain, unexpected  # noqa: PLC0415
        from remembrancer.cli.output import error_console, plain  # noqa: PLC0415

        line = explain(error)
        text = plain(f"error: {line or unexpected(error)}")
        error_console().print(text, style="red")
        if isinstance(error, OSError) and error.filename is None:
            _drop_output()
        sys.exit(REFUSED if line else BUG)


def _drop_output() -> None:
    """Keep the interpreter from writing the rest at its end, which would fail once more."""
    with suppress(OSError, ValueError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
