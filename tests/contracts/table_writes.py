"""Finds which package writes which table, from the source alone.

Looked at: calls of SQLAlchemy's ``insert``, ``update`` and ``delete``, the methods of the same
names, functions that hand their parameter on to one of these, SQL in strings, and ``.sql`` files.
Names are followed through imports, aliases, assignments and loops. A write whose table cannot be
determined is reported as a write of ``?``.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = "remembrancer"
TABLES_PACKAGE = f"{ROOT}.db.tables"
UNKNOWN = "?"

_VERBS = {"insert", "update", "delete"}
_NAME = r"(?:\"?\w+\"?\.)?\"?(?P<table>\w+)\"?"
_WRITE = re.compile(
    r"\b(?:insert into|delete from|merge into|truncate(?: table)?|(?<!for )(?<!key )update)"
    rf" (?:only )?(?:{_NAME}|(?P<hole>\x01\d+\x02|\{{\w*\}}|/\*\[)|(?P<end>\Z))|"
    rf"\bcopy {_NAME.replace('table', 'copied')} ?(?:\([^)]*\) ?)?from\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"--[^\n]*|/\*(?!\[).*?\*/", re.DOTALL)
_SPACE = re.compile(r"\s+")
_PROSE_UPDATE = re.compile(r"\bupdate \w+(?!.*\bset\b)")


@dataclass(frozen=True, order=True)
class Write:
    """One write of a table, and where it stands."""

    table: str
    package: str
    where: str


@dataclass(frozen=True)
class Parameter:
    """The parameter of a function, as what a write is of."""

    module: str
    function: str
    name: str
    position: int  # among those of a call, so without `self`
    method: bool


Target = str | Parameter


def table_writes(source: Path, tables: set[str]) -> list[Write]:
    """Return the writes in the package at ``source`` (``src/remembrancer``), sorted."""
    modules = {
        module.name: module
        for path in sorted(source.rglob("*.py"))
        if "migrations" not in path.parts
        for module in [Module.parse(path, source, tables)]
    }
    writes = set(_python_writes(modules))
    for path in sorted(source.rglob("*.sql")):
        if "migrations" not in path.parts:
            relative = path.relative_to(source)
            package = relative.parts[0]
            found = _tables_in(path.read_text(encoding="utf-8"), tables)
            writes |= {Write(table or UNKNOWN, package, str(relative)) for table, _ in found}
    return sorted(writes)


def _python_writes(modules: "dict[str, Module]") -> Iterator[Write]:
    """Return the writes in Python, those of a helper's argument among them."""
    targets = [
        (module, where, target)
        for module in modules.values()
        for where, scope, expression in module.write_targets()
        for target in module.mentions(expression, scope, modules) or {UNKNOWN}
    ]
    # Which parameters of which functions are written; a caller may hand on its own.
    queue = [(module.package, where, target) for module, where, target in targets]
    followed: set[tuple[str, Parameter]] = set()
    while queue:
        package, where, target = queue.pop()
        if isinstance(target, str):
            yield Write(target, package, where)
        elif (package, target) not in followed:
            followed.add((package, target))
            for module in modules.values():
                # Helpers of `db` write for their callers, all others for themselves.
                owner = module.package if package == "db" else package
                queue += [(owner, *given) for given in module.arguments(target, modules)]


@dataclass
class Module:
    """One module, with what its names stand for."""

    name: str
    package: str
    file: str
    tree: ast.Module
    tables: set[str]
    scopes: dict[ast.AST, list[ast.AST]] = field(default_factory=dict)
    values: dict[tuple[ast.AST, str], list[ast.expr]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, path: Path, source: Path, tables: set[str]) -> "Module":
        relative = path.relative_to(source)
        parts = [*relative.with_suffix("").parts]
        package = parts[0]
        if parts[-1] == "__init__":
            parts.pop()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = ".".join([ROOT, *parts])
        module = cls(name, package, str(relative), tree, tables)
        module._visit(tree, [tree])
        return module

    def _visit(self, node: ast.AST, scope: list[ast.AST]) -> None:
        self.scopes[node] = scope
        if isinstance(node, ast.Import | ast.ImportFrom):
            home = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            self.imports |= {alias.asname or alias.name: home + alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            self._assign(node.targets, node.value, scope)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            self._assign([node.target], node.value, scope)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._assign([node.target], node.iter, scope)
        inner = [*scope, node] if isinstance(node, _FUNCTIONS) else scope
        for child in ast.iter_child_nodes(node):
            self._visit(child, inner)

    def _assign(self, targets: list[ast.expr], value: ast.expr, scope: list[ast.AST]) -> None:
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    self.values.setdefault((scope[-1], name.id), []).append(value)

    @cached_property
    def _docstrings(self) -> set[ast.AST]:
        return {
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }

    def write_targets(self) -> Iterator[tuple[str, list[ast.AST], ast.expr]]:
        """Return the place, the scope and the written table of each write, as an expression."""
        joined: set[ast.AST] = set()
        for node, scope in list(self.scopes.items()):
            where = f"{self.file}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and (target := self._called_on(node, scope)):
                yield where, scope, target
            elif isinstance(node, ast.JoinedStr | ast.BinOp) and node not in joined:
                joined.update(ast.walk(node))
                yield from ((where, scope, target) for target in self._in_text(_pieces(node), node))
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and node not in joined
                and node not in self._docstrings
            ):
                yield from ((where, scope, target) for target in self._in_text([node.value], node))

    def _called_on(self, call: ast.Call, scope: list[ast.AST]) -> ast.expr | None:
        """Return what a call writes, if it is one of SQLAlchemy's."""
        origin = self.origin(call.func)
        if origin and origin.startswith("sqlalchemy.") and origin.split(".")[-1] in _VERBS:
            if call.args:
                return call.args[0]
            return next((k.value for k in call.keywords if k.arg == "table"), call)
        method = call.func
        if (
            isinstance(method, ast.Attribute)
            and method.attr in _VERBS
            and self._is_table(method.value, scope)
        ):
            return method.value
        return None

    def _is_table(self, node: ast.expr, scope: list[ast.AST], depth: int = 0) -> bool:
        """Say whether an expression is a table itself, or an alias of one."""
        if isinstance(node, ast.Call):
            method = node.func
            alias = isinstance(method, ast.Attribute) and method.attr == "alias"
            return alias and self._is_table(method.value, scope, depth + 1)  # type: ignore[attr-defined]
        if (self.origin(node) or "").startswith(f"{TABLES_PACKAGE}."):
            return True
        values = self._values_of(node.id, scope) if isinstance(node, ast.Name) else []
        return depth < 5 and any(self._is_table(value, scope, depth + 1) for value in values)

    def _in_text(self, pieces: list[str | ast.expr], node: ast.expr) -> Iterator[ast.expr]:
        """Return the tables that a text with SQL in it writes, as expressions."""
        holes = [piece for piece in pieces if not isinstance(piece, str)]
        numbers = iter(range(len(holes)))
        text = "".join(
            piece if isinstance(piece, str) else f"\x01{next(numbers)}\x02" for piece in pieces
        )
        for table, hole in _tables_in(text, self.tables):
            if table:
                yield ast.Constant(table)
            elif hole.startswith("\x01"):
                yield holes[int(hole[1:-1])]
            else:
                yield self._formatted(hole.strip("{}")) or node

    def _formatted(self, name: str) -> ast.expr | None:
        """Return what any ``.format(name=...)`` of this module puts in for a name."""
        values = [
            keyword.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            for keyword in node.keywords
            if name and keyword.arg == name
        ]
        if not values:
            return None
        return ast.Tuple(values)

    def origin(self, node: ast.AST) -> str | None:
        """Return the dotted name that a name or attribute was imported by."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id)
        if isinstance(node, ast.Attribute) and (base := self.origin(node.value)):
            return f"{base}.{node.attr}"
        return None

    def _values_of(self, name: str, scope: list[ast.AST]) -> list[ast.expr]:
        for node in reversed(scope):
            if values := self.values.get((node, name)):
                return values
        return []

    def mentions(
        self,
        node: ast.AST,
        scope: list[ast.AST],
        modules: "dict[str, Module]",
        seen: frozenset[tuple[str, str]] = frozenset(),
    ) -> set[Target]:
        """Return the tables that an expression can stand for."""
        if isinstance(node, ast.Constant):
            return {node.value} if node.value in self.tables else set()
        origin = self.origin(node)
        if origin:
            return self._imported(origin, modules, seen)
        if isinstance(node, ast.Name):
            return self._named(node.id, self.scopes.get(node, scope), modules, seen)
        found: set[Target] = set()
        for child in ast.iter_child_nodes(node):
            # Only a parameter that is handed on as it stands is followed to the callers.
            inside = self.mentions(child, self.scopes.get(child, scope), modules, seen)
            found |= {target for target in inside if isinstance(target, str)}
        return found

    def _imported(
        self, origin: str, modules: "dict[str, Module]", seen: frozenset[tuple[str, str]]
    ) -> set[Target]:
        home, _, name = origin.rpartition(".")
        if origin.startswith(f"{TABLES_PACKAGE}."):
            return {part for part in origin.split(".") if part in self.tables}
        if home in modules:
            other = modules[home]
            return other._named(name, [other.tree], modules, seen)
        return set()

    def _named(
        self,
        name: str,
        scope: list[ast.AST],
        modules: "dict[str, Module]",
        seen: frozenset[tuple[str, str]],
    ) -> set[Target]:
        if (self.name, name) in seen:
            return set()
        found: set[Target] = set()
        if name in {"self", "cls"}:
            return set()
        for function in reversed(scope):
            if isinstance(function, _FUNCTIONS) and name in _parameters(function):
                return {self._parameter(function, name)}
            if (function, name) in self.values:
                break
        for value in self._values_of(name, scope):
            found |= self.mentions(value, scope, modules, seen | {(self.name, name)})
        for function in self._functions.get(name, []):
            # What a function returns may be any table that stands in it.
            inside = self.mentions(function, scope, modules, seen | {(self.name, name)})
            found |= {target for target in inside if isinstance(target, str)}
        return found

    @cached_property
    def _functions(self) -> dict[str, list[ast.AST]]:
        functions: dict[str, list[ast.AST]] = {}
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.setdefault(node.name, []).append(node)
        return functions

    def _parameter(self, function: ast.AST, name: str) -> Parameter:
        names = _parameters(function)
        method = names[0] in {"self", "cls"}
        named = getattr(function, "name", "<lambda>")
        return Parameter(self.name, named, name, names.index(name) - method, method)

    @cached_property
    def _calls(self) -> dict[str, list[ast.Call]]:
        calls: dict[str, list[ast.Call]] = {}
        for node in self.scopes:
            if isinstance(node, ast.Call):
                calls.setdefault(self._called(node), []).append(node)
        return calls

    def _called(self, call: ast.Call) -> str:
        """Return the dotted name of the called function; ``.name`` for a method."""
        if origin := self.origin(call.func):
            return origin
        if isinstance(call.func, ast.Attribute):
            return f".{call.func.attr}"
        return f"{self.name}.{call.func.id}" if isinstance(call.func, ast.Name) else ""

    def arguments(
        self, parameter: Parameter, modules: "dict[str, Module]"
    ) -> Iterator[tuple[str, Target]]:
        """Return what the calls in this module give for a parameter."""
        home = "" if parameter.method else parameter.module
        for call in self._calls.get(f"{home}.{parameter.function}", []):
            values = [key.value for key in call.keywords if key.arg == parameter.name]
            if parameter.position < len(call.args):
                values.append(call.args[parameter.position])
            for value in values:
                for target in self.mentions(value, self.scopes[call], modules):
                    yield f"{self.file}:{call.lineno}", target


_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def _parameters(function: ast.AST) -> list[str]:
    arguments: ast.arguments = function.args  # type: ignore[attr-defined]
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in every]


def _pieces(node: ast.expr) -> list[str | ast.expr]:
    """Return a text as its constant pieces and the expressions between them."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else [""]
    if isinstance(node, ast.JoinedStr):
        return [piece for value in node.values for piece in _pieces(value)]
    if isinstance(node, ast.FormattedValue):
        return [node.value]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_pieces(node.left), *_pieces(node.right)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _pieces(node.left)
    return [node]


def _tables_in(text: str, tables: set[str]) -> Iterator[tuple[str, str]]:
    """Return each written table of an SQL text, or what stands in its place."""
    text = _SPACE.sub(" ", _COMMENT.sub(" ", text))
    for match in _WRITE.finditer(text):
        table = match["table"] or match["copied"]
        hole = match["hole"] or ""
        prose = match[0][:6] == "update" and _PROSE_UPDATE.match(text, match.start())
        if table in tables and not prose:
            yield table, ""
        elif hole or (match["end"] is not None and match[0].isupper()):
            yield "", hole
