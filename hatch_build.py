"""Puts the documentation, as a site, into the wheel."""

import subprocess
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Builds the site. An editable installation has what `make site` built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the site into the package, from where the wheel takes it."""
        if self.target_name == "wheel" and version == "standard":
            command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
            subprocess.run(command, cwd=self.root, check=True)  # noqa: S603 - of ours
            build_data["artifacts"].append("/src/remembrancer/web/site/")
