"""Asks what is known against the locked packages: `make audit`.

Exit codes: 0 nothing is known, 1 there are advisories, 3 nobody could be asked about some package.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

APP: Final = Path(__file__).with_name("app.txt")
SERVICES: Final = ("pypi", "osv")
NO_SOURCE: Final = 3

Package = Mapping[str, Any]


def main() -> int:
    """Ask one service after the other until one knows all packages; return an exit code."""
    for service in SERVICES:
        packages = ask(service)
        code, lines = verdict(service, packages)
        print("\n".join(lines))
        if code != NO_SOURCE:
            return code
    print("No source of advisories can be reached: nothing was audited.")
    return NO_SOURCE


def ask(service: str) -> Sequence[Package]:
    """Return what a service says of each package; nothing if it cannot be reached."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", APP, "--require-hashes"]
    options = ["--disable-pip", "--format", "json", "--progress-spinner", "off", "--timeout", "15"]
    run = subprocess.run(  # noqa: S603 - a fixed command
        [*command, *options, "--vulnerability-service", service],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        found: Sequence[Package] = json.loads(run.stdout)["dependencies"]
    except (ValueError, KeyError):
        return []
    return found


def verdict(service: str, packages: Sequence[Package]) -> tuple[int, Sequence[str]]:
    """Return an exit code and its explanation. An unknown package is no good news."""
    known = [package for package in packages if "skip_reason" not in package]
    advisories = [
        f"{package['name']} {package['version']}: {found['id']}"
        f" (fixed in {', '.join(found['fix_versions']) or 'no version'})"
        for package in known
        for found in package["vulns"]
    ]
    if advisories:
        return 1, [f"{service} knows {len(advisories)} advisories:", *advisories]
    if not known or len(known) < len(packages):
        asked = f"knows {len(known)} of {len(packages)} packages" if packages else "does not answer"
        return NO_SOURCE, [f"{service} {asked}."]
    return 0, [f"{service} knows nothing against {len(known)} packages."]


if __name__ == "__main__":
    sys.exit(main())
