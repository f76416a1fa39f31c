"""What the site needs beside the pages: those of the root, the decisions, the references."""

import ast
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

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
_AS_IT_IS: Final = re.compile(
    r"(<(?:pre|textarea|script|style)\b.*?</(?:pre|textarea|script|style)>)", re.DOTALL
)
_INDENT: Final = re.compile(r"\s*\n\s*")
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
    if page.file.src_uri == "rest-fields.md":
        return _MARK.sub(lambda found: "\n".join(_rest(found[1])), markdown)
    if page.file.src_uri in {"reference.md", "models.md"}:
        return _MARK.sub(lambda found: "\n".join(_directives(found[1])), markdown)
    return _TO_ROOT.sub(lambda found: f"]({_PAGES[found[1] + '.md']}", markdown)


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """Leave out the blanks that indent lines and empty them: three of ten bytes of the site."""
    del page, config
    parts = _AS_IT_IS.split(output)
    parts[::2] = [_INDENT.sub("\n", part) for part in parts[::2]]
    return "".join(parts)


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Take the roles off the names in docstrings."""
    del page, config, files
    return _ROLE.sub("", html)


def on_post_build(config: MkDocsConfig) -> None:
    """Take away what nobody uses: search in other languages, source maps, a map without address."""
    site = Path(config.site_dir)
    shutil.rmtree(site / "assets" / "javascripts" / "lunr", ignore_errors=True)
    for file in [*site.glob("assets/**/*.map"), *site.glob("sitemap.xml*")]:
        file.unlink()


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


def _rest(mark: str) -> Iterator[str]:
    """Yield the endpoints or the models of the REST API, from its OpenAPI document."""
    sys.path.insert(0, str(_PACKAGE.parent))
    try:
        from remembrancer.api.server import openapi_document  # noqa: PLC0415
    except ImportError:
        yield "This site was built without the server; see `/docs/api` of a running one."
        return
    document: Any = openapi_document()
    if mark == "endpoints":
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                yield from _endpoint(f"{method.upper()} {path}", operation)
    else:
        for name, schema in sorted(document["components"]["schemas"].items()):
            yield from _model(name, schema)


def _endpoint(title: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {title}\n\n{operation['description']}\n"
    parameters = operation.get("parameters", ())
    yield from _table(
        (f"{given['name']} ({given['in']})", given["schema"] | given, given["required"])
        for given in parameters
    )
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body: {_type(body['schema'])}{_kind(kind)}\n"
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            bodies = [
                _type(body.get("schema", {})) + _kind(kind)
                for kind, body in response.get("content", {}).items()
            ]
            yield f"Answer {status}: {' or '.join(bodies) or 'no body'}\n"


def _kind(media_type: str) -> str:
    return "" if media_type == "application/json" else f" as `{media_type}`"


def _model(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}\n\n{schema.get('description', '')}\n"
    if "properties" not in schema:
        yield f"{_type(schema)}\n"
    needed = schema.get("required", ())
    fields = schema.get("properties", {}).items()
    yield from _table((field, one, field in needed) for field, one in fields)


def _table(rows: Iterable[tuple[str, Mapping[str, Any], bool]]) -> Iterator[str]:
    lines = [
        f"| `{name}` | {_type(schema)} | {_default(schema, is_needed)} | {_meaning(schema)} |"
        for name, schema, is_needed in rows
    ]
    if lines:
        yield "\n".join(["| field | type | default | meaning |", "|---|---|---|---|", *lines, ""])


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(_type(option) for option in schema[word]))
    if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(f"`{value}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type", "any"))


def _default(schema: Mapping[str, Any], is_needed: bool) -> str:
    if is_needed:
        return "needed"
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def _meaning(schema: Mapping[str, Any]) -> str:
    """Return the description and the bounds of a value."""
    options = [schema, *schema.get("anyOf", ())]
    given = {word: option[word] for option in options[::-1] for word in option}
    bounds = [
        words.format(f"{given[word]:,}")
        for word, words in (
            ("minimum", "at least {}"),
            ("maximum", "at most {}"),
            ("minLength", "at least {} characters"),
            ("maxLength", "at most {} characters"),
            ("minItems", "at least {} items"),
            ("maxItems", "at most {} items"),
        )
        if word in given
    ]
    text = " ".join(str(given.get("description", "")).split())
    limits = ", ".join(bounds)
    return f"{text} {limits[:1].upper()}{limits[1:]}".strip().replace("|", "\\|")
