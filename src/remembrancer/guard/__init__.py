"""The guard: find secrets, card and account numbers, national ids, and orders to agents."""

from importlib.resources import files


def lines_of(name: str) -> list[str]:
    """Return the lines of a file, except empty ones and comments (`# `)."""
    lines = (files(__package__) / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]
