"""The SQL files of the package run in psql as they stand."""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest
from helpers import Store

import remembrancer
from remembrancer import Remembrancer
from remembrancer.db.embedded import binaries
from remembrancer.db.urls import libpq_url

PACKAGE = Path(remembrancer.__file__).parent
FILES = {
    str(file.relative_to(PACKAGE)): file.read_text(encoding="utf-8")
    for file in sorted(PACKAGE.glob("*/sql/*.sql"))
}
PSQL = binaries.installed() / binaries.HOME / "bin/psql"


@pytest.mark.parametrize("file", FILES)
async def test_a_file_of_statements_runs_in_psql(memory: Remembrancer, file: str) -> None:
    """Each statement is explained with nulls: its syntax, names and types are tested."""
    sql = FILES[file]
    assert re.search(r"^-- name: \w+$", sql, re.MULTILINE)
    nulls = [f"--set={name}=NULL" for name in set(re.findall(r"(?<![:\w]):(\w+)", sql))]
    psql = await asyncio.to_thread(
        subprocess.run,
        [PSQL, libpq_url(Store.url), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", *nulls],
        input=re.sub(r"^(-- name: \w+)$", r"\1\nEXPLAIN", sql, flags=re.MULTILINE),
        capture_output=True,
        text=True,
        check=False,
    )
    assert psql.returncode == 0, psql.stderr
