"""What the package exports is what it means to export."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import remembrancer


def _declared() -> dict[str, str]:
    """The public names as type checkers see them, and the modules they are from."""
    stub = ast.parse(Path(remembrancer.__file__).with_suffix(".pyi").read_text("utf-8"))
    return {
        alias.name: f"remembrancer.{part.module}"
        for part in stub.body
        if isinstance(part, ast.ImportFrom)
        for alias in part.names
    }


def test_names_are_what_type_checkers_take_them_for() -> None:
    """A name that is imported when it is asked for is the one of the module it is declared from."""
    for name, module in _declared().items():
        assert getattr(remembrancer, name) is getattr(import_module(module), name), name


def test_a_client_needs_no_database_driver() -> None:
    """Importing the client, `Memory` and models imports nothing of Postgres, FastAPI or models."""
    program = """
import sys
from remembrancer.client import AsyncClient, Client
from remembrancer import AsyncMemory, Memory, MemoryCreate, MemoryFilter, RecallQuery, MoveRequest
heavy = {"sqlalchemy", "psycopg", "numpy", "fastapi", "onnxruntime", "mcp"}
print(sorted(heavy & set(sys.modules)))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stdout.decode().strip() == "[]"


def test_a_command_waits_for_no_more_than_it_uses() -> None:
    """Providers of language models, migrations, the job queue, servers and the embedding model are
    imported when they are needed, and the collector of garbage is at work again.
    """
    program = """
import gc, sys
from remembrancer.cli import main
try:
    main(["mcp", "install", "--client", "cursor"])
except SystemExit:
    late = {"pydantic_ai", "alembic", "procrastinate", "fastapi", "onnxruntime", "mcp", "tiktoken"}
    print(sorted(late & set(sys.modules)), gc.isenabled())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stdout.decode().splitlines()[-1] == "[] True"


def test_all_names_what_can_be_imported_and_nothing_else() -> None:
    """Every public name is listed, in order, and every listed name is there."""
    names = remembrancer.__all__
    assert set(_declared()) == set(names)
    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert all(hasattr(remembrancer, name) for name in names)


def test_everything_exported_is_documented() -> None:
    """Each class and function says what it is, and so does each of its public methods."""
    undocumented = []
    for name in remembrancer.__all__:
        thing = getattr(remembrancer, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        documented = [(name, thing)]
        if inspect.isclass(thing):
            documented += [
                (f"{name}.{method}", function)
                for method, function in vars(thing).items()
                if inspect.isfunction(function) and not method.startswith("_")
            ]
        undocumented += [path for path, one in documented if not _own_doc(one)]
    assert undocumented == []


def _own_doc(thing: object) -> bool:
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)
    return bool(text) and not str(text).startswith(f"{getattr(thing, '__name__', '')}(")
