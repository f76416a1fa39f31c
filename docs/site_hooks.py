"""What the site needs beside the pages: those of the root, the decisions, the Python reference."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_PAGES: Final = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
}
"""Pages of the root of the project, and their names on the site."""
_TO_ROOT: Final = re.compile(r"\]\(\.\./(README|CONTRIBUTING|CHANGELOG)\.md")
_TO_DOCS: Final = re.compile(r"\]\(docs/")
_TO_LICENCE: Final = re.compile(r"\[([^\]]*)\]\(LICENSE\)")
_MARK: Final = re.compile(r"<!-- ([\w. ]+) -->")
_ROLE: Final = re.compile(r":(?:class|meth|attr|func|mod):\s*(?=<)")
_BY_USE: Final = [f"remembrancer.{name}" for name in ("bot", "app", "client", "errors")]
"""Modules of the page `reference.md`; `models.md` has all others."""
_PACKAGE: Final = Path(__file__).parents[1] / "src" / "remembrancer"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the decisions to the navigation, in their order."""
    assert config.nav is not None
    decisions = sorted(Path(config.docs_dir, "decisions").glob("*.md"))
    config.nav.append({"Decisions": [f"decisions/{page.name}" for page in decisions]})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root."""
    root = Path(config.docs_dir).parent
    for source, name in _PAGES.items():
        text = _TO_LICENCE.sub(r"\1", _TO_DOCS.sub("](", (root / source).read_text("utf-8")))
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to pages of the root at their copies; list what the reference describes."""
    del config, files
    if page.file.src_uri in {"reference.md", "models.md"}:
        return _MARK.sub(lambda found: "\n".join(_directives(found[1])), markdown)
    return _TO_ROOT.sub(lambda found: f"]({_PAGES[found[1] + '.md']}", markdown)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Take the roles off the names in docstrings."""
    del page, config, files
    return _ROLE.sub("", html)


def _directives(mark: str) -> Iterator[str]:
    """Yield what the tool that reads the code is to describe in the place of a mark."""
    if mark == "nouns":
        for noun, name in _nouns():
            yield f"::: {name}\n    options: {{heading: {noun}, toc_label: {noun}}}\n"
        return
    is_rest = mark == "models"
    modules = tuple(_BY_USE if is_rest else mark.split())
    for module, name in _public_names():
        if module.startswith(modules) != is_rest:
            yield f"::: {module}.{name}\n"


def _public_names() -> Iterator[tuple[str, str]]:
    """Yield the module and name of all that `remembrancer` exports."""
    for line in ast.parse((_PACKAGE / "__init__.pyi").read_text("utf-8")).body:
        if isinstance(line, ast.ImportFrom):
            for alias in line.names:
                yield f"remembrancer.{line.module}", alias.name


def _nouns() -> Iterator[tuple[str, str]]:
    """Yield each noun of the client and the class that has its methods."""
    tree = ast.parse((_PACKAGE / "client" / "__init__.py").read_text("utf-8"))
    modules = {
        alias.name: line.module
        for line in tree.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }
    for part in ast.walk(tree):
        match part:
            case ast.Assign(
                targets=[ast.Attribute(attr=noun)],
                value=ast.Call(func=ast.Name(id=name), args=[ast.Name(id="sender")]),
            ):
                yield noun, f"{modules[name]}.{name}"
