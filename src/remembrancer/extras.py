"""Packages that are installed with an extra (decision 50)."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from remembrancer.errors import MissingExtra


@contextmanager
def extra(name: str, *packages: str) -> Iterator[None]:
    """Import packages of an extra in this block, or later, if they are named.

    Raises ``MissingExtra`` if one is not installed; it says what to install.
    """
    try:
        for package in packages:
            if find_spec(package) is None:
                raise ModuleNotFoundError(name=package)
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "remembrancer":
            raise
        raise MissingExtra(
            f"{package} is not installed; run: pip install 'remembrancer[{name}]'"
        ) from None
