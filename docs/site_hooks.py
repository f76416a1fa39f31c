"""What the site needs beside the pages: those of the root, and the decisions in order."""

import re
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


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Point links to pages of the root at their copies."""
    return _TO_ROOT.sub(lambda found: f"]({_PAGES[found[1] + '.md']}", markdown)
