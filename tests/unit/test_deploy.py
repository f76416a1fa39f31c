"""What is in deploy/ names paths, commands and settings that exist."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import yaml

from remembrancer.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")


def instructions(word: str) -> list[str]:
    return re.findall(rf"^ *{word} (.*)$", DOCKERFILE, re.MULTILINE)


def settings() -> set[str]:
    """The first part of the name of every setting, as a variable."""
    return {f"REMEMBRANCER_{name.upper()}" for name in Settings.model_fields}


def test_the_image_copies_what_is_there() -> None:
    """Each path of a COPY exists, and is let through to the build."""
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    for copied in instructions("COPY"):
        if not copied.startswith("--from"):
            for path in copied.split()[:-1]:
                assert (ROOT / path).exists(), path
                assert f"!{path}" in ignored, path


def test_the_image_is_pinned_and_nobody_is_root_in_it() -> None:
    """Requirements have hashes, the last user is not root, both stages are of one image."""
    assert len({image.split()[0] for image in instructions("FROM")}) == 1
    assert any("--require-hashes" in run for run in instructions("RUN"))
    assert instructions("USER") == ["remembrancer"]
    assert json.loads(instructions("CMD")[-1]) == ["serve"]
    assert "/readyz" in DOCKERFILE


def test_variables_are_settings() -> None:
    """Every REMEMBRANCER_… in a file of deploy/ is a setting."""
    for file in DEPLOY.iterdir():
        for name in re.findall(r"REMEMBRANCER_[A-Z][A-Z_]+", file.read_text("utf-8")):
            assert name.split("__")[0] in settings(), f"{file.name}: {name}"


def test_compose_fits_the_image() -> None:
    """It parses; the build is that of the Dockerfile, ports stay on this machine."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    ours = compose["services"]["remembrancer"]
    assert (DEPLOY / ours["build"]["context"] / ours["build"]["dockerfile"]).exists()
    assert ours["depends_on"].keys() <= compose["services"].keys()
    assert all(port.startswith("127.0.0.1:") for port in ours["ports"])
    used = {v.split(":")[0] for s in compose["services"].values() for v in s["volumes"]}
    assert used == compose["volumes"].keys()


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    """As far as can be seen without its program: no unknown directive, nothing misspelt."""
    unit = (DEPLOY / "remembrancer.service").read_text("utf-8")
    assert "ExecStart=/opt/remembrancer/bin/remembrancer serve\n" in unit
    assert "NoNewPrivileges=true\n" in unit
    if analyze := shutil.which("systemd-analyze"):
        file = tmp_path / "remembrancer.service"
        program = shutil.which("true") or "/bin/true"
        file.write_text(unit.replace("/opt/remembrancer/bin/remembrancer", program))
        ran = subprocess.run([analyze, "verify", file], capture_output=True, text=True, check=False)
        assert "remembrancer.service:" not in ran.stderr
