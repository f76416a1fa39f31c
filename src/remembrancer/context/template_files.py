"""Templates of prompts: from this package, or from a directory of the operator."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remembrancer.errors import ConfigurationError

if TYPE_CHECKING:
    from jinja2 import Template

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
        self._directory = directory
        if directory is not None:
            _ = self._lines

    @cached_property
    def _found(self) -> "dict[str, Template]":
        # Their import and our templates take a while, and the first context is early enough.
        from jinja2 import (  # noqa: PLC0415
            ChoiceLoader,
            Environment,
            FileSystemLoader,
            PackageLoader,
            StrictUndefined,
        )
        from jinja2.exceptions import TemplateError  # noqa: PLC0415

        own = [FileSystemLoader(self._directory)] if self._directory is not None else []
        environment = Environment(
            loader=ChoiceLoader([*own, PackageLoader("remembrancer.context", "templates")]),
            autoescape=False,  # noqa: S701 - a prompt is no HTML
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            undefined=StrictUndefined,
            auto_reload=False,
        )
        try:
            return {name: environment.get_template(name) for name in NAMES}
        except TemplateError as error:
            raise ConfigurationError(f"context.templates: {error}") from error

    @cached_property
    def _lines(self) -> dict[str, Any]:
        from jinja2.exceptions import TemplateError  # noqa: PLC0415 - as above

        try:
            macros = self._found["lines.j2"].module
            return {name: getattr(macros, name) for name in MACROS}
        except (TemplateError, AttributeError) as error:
            raise ConfigurationError(f"context.templates: {error}") from error

    def line(self, macro: str, *values: Any) -> str:
        """Return the line of a macro of ``lines.j2``."""
        written = str(self._lines[macro](*values))
        return " ".join(written.split("\n")).strip() if "\n" in written else written.strip()

    def text(self, name: str, **values: Any) -> str:
        return self._found[name].render(**values).strip("\n") + "\n"
