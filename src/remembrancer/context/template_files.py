"""Templates of prompts: from this package, or from a directory of the operator."""

from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from jinja2.exceptions import TemplateError

from remembrancer.errors import ConfigurationError

MACROS = ("memory", "place", "messages", "forgotten")
"""Macros of ``lines.j2``, each for one line."""
NAMES = ("lines.j2", "stable.md.j2", "dynamic.md.j2", "bulletin.md.j2")


class Templates:
    """Templates by name; one that ``directory`` has is used instead of ours.

    What they are given is made safe for a prompt already. Raises ``ConfigurationError`` for a
    directory that is none, and for a template that cannot be read.
    """

    def __init__(self, directory: Path | None = None) -> None:
        if directory is not None and not directory.is_dir():
            raise ConfigurationError(f"context.templates: {directory} is no directory")
        own = [FileSystemLoader(directory)] if directory is not None else []
        self._environment: Environment = Environment(
            loader=ChoiceLoader([*own, PackageLoader("remembrancer.context", "templates")]),
            autoescape=False,  # noqa: S701 - a prompt is no HTML
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            undefined=StrictUndefined,
            auto_reload=False,
        )
        try:
            self._found = {name: self._environment.get_template(name) for name in NAMES}
            macros = self._found["lines.j2"].module
            self._lines: dict[str, Any] = {name: getattr(macros, name) for name in MACROS}
        except (TemplateError, AttributeError) as error:
            raise ConfigurationError(f"context.templates: {error}") from error

    def line(self, macro: str, *values: Any) -> str:
        """Return the line of a macro of ``lines.j2``."""
        written = str(self._lines[macro](*values))
        return " ".join(written.split("\n")).strip() if "\n" in written else written.strip()

    def text(self, name: str, **values: Any) -> str:
        return self._found[name].render(**values).strip("\n") + "\n"
