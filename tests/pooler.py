"""PgBouncer, in transaction mode unless it is told otherwise: it hands a connection on after each
transaction."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.loopback import free_port
from tests.postgres import USER, wait_for

# Debian keeps it out of an ordinary user's path.
PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")

needs_pooler = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")

CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
ignore_startup_parameters = {ignored}
"""


@contextmanager
def pooled(
    url: str,
    folder: Path,
    *,
    mode: str = "transaction",
    size: int = 4,
    ignored: str = "extra_float_digits,options",
) -> Generator[str]:
    """The address of the same database behind a pooler of so many connections, which takes `ignored`
    parameters from its clients and passes them on to nobody."""
    address = urlsplit(url)
    own = free_port()
    file = folder / "pgbouncer.ini"
    host, port, user = address.hostname, address.port, address.username
    given = {"mode": mode, "size": size, "ignored": ignored}
    file.write_text(CONFIGURATION.format(host=host, port=port, user=user, own=own, **given))
    options: dict[str, Any] = {}
    if os.geteuid() == 0:  # it refuses to run as root
        options = {"user": USER, "group": USER, "extra_groups": []}
    with file.open("rb") as configuration:
        assert PROGRAM is not None
        command = [PROGRAM, f"/dev/fd/{configuration.fileno()}"]
        process = subprocess.Popen(
            command,
            pass_fds=[configuration.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **options,
        )
    try:
        pooler = address._replace(netloc=f"{user}@127.0.0.1:{own}").geturl()
        wait_for(pooler)
        yield pooler
    finally:
        process.terminate()
        process.wait()
