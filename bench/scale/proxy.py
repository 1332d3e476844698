"""nginx in front of replicas, with the file of docs/scaling.md."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.loopback import TIMEOUT, free_port
from tests.running import ROOT

PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
"""Debian keeps it out of an ordinary user's path."""
OWN, PORTS = "8000", ("8001", "8002", "8003")
"""The ports of that page: of nginx, and of its three replicas."""


@contextmanager
def nginx(ports: Sequence[int]) -> Generator[str]:
    """Its address, before replicas on these three ports of this machine."""
    assert PROGRAM is not None
    with tempfile.TemporaryDirectory(prefix="nginx-") as made:
        folder, own = Path(made), free_port()
        folder.chmod(0o755)  # its workers are another user
        (folder / "nginx.conf").write_text(configuration(folder, own, ports))
        process = subprocess.Popen(
            [PROGRAM, "-p", made, "-c", "nginx.conf", "-g", "daemon off;"], stderr=subprocess.DEVNULL
        )
        try:
            wait_for(own)
            yield f"http://127.0.0.1:{own}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def wait_for(port: int) -> None:
    """Until something listens there."""
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise RuntimeError(f"Nothing listens on port {port}.")


def configuration(folder: Path, own: int, ports: Sequence[int]) -> str:
    """The file of that page, with these ports, and with what it writes in a folder of its own."""
    page = (ROOT / "docs" / "scaling.md").read_text()
    (file,) = re.findall(r"cat > data/nginx\.conf <<'END'\n(.*?)\nEND\n", page, re.DOTALL)
    given = {OWN: str(own), **dict(zip(PORTS, map(str, ports), strict=True))}
    text = re.sub(r"127\.0\.0\.1:(\d+)", lambda found: f"127.0.0.1:{given[found[1]]}", file)
    return text.replace("/tmp/gateway-nginx", f"{folder}/bodies")
