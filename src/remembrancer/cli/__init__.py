"""The command line. It calls the same services as every other entry point."""

import sys
from collections.abc import Sequence

from remembrancer.cli.exit_codes import as_exit_code
from remembrancer.extras import extra
from remembrancer.fast_imports import uncollected


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 success, 1 unexpected result, 2 refused, 130 interrupted."""
    with as_exit_code():
        with uncollected(), extra("cli"):
            from remembrancer.cli.app import app  # noqa: PLC0415

        code = app(arguments, prog_name="remembrancer", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
