"""Writes the packages and their licences into `licences.md`: `make licences`."""

import re
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).with_name("licences.md")
_MARK: Final = "<!-- From here on written by docs/licences_page.py -->\n"
_REQUIREMENTS: Final = Path(__file__).parents[1] / "requirements"

ALLOWED: Final = frozenset(
    """
    0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 CNRI-Python ISC LGPL-2.1-or-later
    LGPL-3.0-only MIT MIT-0 MPL-2.0 PSF-2.0 Zlib
    """.split()  # noqa: SIM905
)
"""SPDX names. LGPL and MPL are of packages that are used as they are, never of files in ours."""
_NAMES: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause license": "BSD-3-Clause",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "ISC License": "ISC",
    "MIT License": "MIT",
    "MIT, BSD": "MIT AND BSD-3-Clause",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "The MIT License (MIT)": "MIT",
    "Zero-Clause BSD (0BSD)": "0BSD",
}
"""What packages call a licence, by SPDX."""
_STATED: Final = {
    "audioop-lts": "PSF-2.0",
    "axe-playwright-python": "MIT AND MPL-2.0",  # axe itself is the second
    "colorama": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "webencodings": "BSD-3-Clause",
}
"""Of packages whose metadata do not say, and of those for other systems than this one."""


def page() -> str:
    """Return what `licences.md` must be: its beginning as it is, and all packages."""
    beginning, *_ = PAGE.read_text("utf-8").split(_MARK)
    app, dev = _packages("app.txt"), _packages("dev.txt", "no-deps.txt")
    run = _reached(app)
    parts = [beginning, _MARK]
    for title, names in (
        ("`remembrancer[all]`", run),
        ("The documentation", app.keys() - run),
        ("Extras beside `all`, and tests", dev.keys() - app.keys()),
    ):
        parts.append(f"\n### {title}\n\n| package | licence |\n|---|---|\n")
        parts += [f"| {name} | {licence(name)} |\n" for name in sorted(names)]
    return "".join(parts)


def licence(name: str) -> str:
    """Return the SPDX expression of a package, as it says itself."""
    if stated := _STATED.get(name):
        return stated
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return "unknown: name it in docs/licences_page.py"
    classifiers = about.get_all("Classifier") or []
    texts = [
        about["License-Expression"],
        (about["License"] or "").strip().partition("\n")[0],
        *(text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License")),
    ]
    named = [_NAMES.get(text, text) for text in texts if text]
    return next((text for text in named if is_allowed(text)), named[0] if named else "unknown")


def is_allowed(expression: str) -> bool:
    """Whether we may use what is under this licence: one of each `OR`, all of each `AND`."""
    words = re.sub(r"[()]", "", expression)
    return all(ALLOWED.intersection(each.split(" OR ")) for each in words.split(" AND "))


def _packages(*files: str) -> dict[str, list[str]]:
    """Return the packages of requirements, and which others want each."""
    wanted_by = defaultdict[str, list[str]](list)
    for file in files:
        name = ""
        for line in (_REQUIREMENTS / file).read_text("utf-8").splitlines():
            if found := re.match(r"([\w.-]+)(\[.*\])?==", line):
                name = found[1]
                wanted_by[name] += []
            elif found := re.match(r"    #(?: via)? +([\w.-]\S*.*)", line):
                wanted_by[name].append(found[1])
    return wanted_by


def _reached(wanted_by: dict[str, list[str]]) -> set[str]:
    """Return the packages that a running Remembrancer needs, not its documentation."""
    found, more = {"remembrancer (pyproject.toml)"}, True
    while more:
        more = {name for name, by in wanted_by.items() if found.intersection(by)} - found
        found |= more
    return found & wanted_by.keys()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
