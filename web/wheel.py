"""What is done before a wheel is made: the page is built, so that it is in there."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Page(BuildHookInterface[Any]):
    """Not for an editable install, beside which `make run` builds the page."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises subprocess.CalledProcessError: it cannot be built; it has said why."""
        if version == "standard":
            build = Path(self.root) / "web" / "build.py"
            subprocess.run([sys.executable, build, "--without-checks"], check=True)
