"""nginx in front of a gateway, configured as a page of the documentation says."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from bench.servers import START_TIMEOUT
from tests.loopback import free_port

# Debian keeps it out of an ordinary user's path.
PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")

AROUND = """
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    log_format asked "$upstream_status $request_uri";
    access_log {folder}/asked.log asked;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {inside}
}}
"""


@asynccontextmanager
async def cached(page: Path, url: str, folder: Path) -> AsyncGenerator[tuple[str, Callable[[], list[str]]]]:
    """The address of a cache before the gateway at `url`, and what it has asked there so far."""
    assert PROGRAM is not None
    port = free_port()
    inside = _configuration(page)
    for written, meant in (
        ("http://127.0.0.1:8000", url),
        ("127.0.0.1:8080", f"127.0.0.1:{port}"),
        ("/var/cache/nginx", str(folder)),
    ):
        assert written in inside
        inside = inside.replace(written, meant)
    configuration = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""  # else its workers could not write into the folder
    configuration.write_text(AROUND.format(folder=folder, inside=inside, user=user))

    def asked() -> list[str]:
        lines = (folder / "asked.log").read_text().splitlines()
        return [uri for status, uri in (line.split(" ") for line in lines) if status != "-"]

    command = [PROGRAM, "-p", folder, "-c", configuration, "-e", folder / "error.log"]
    with subprocess.Popen(command) as process:  # noqa: ASYNC220 - it is quick
        try:
            async with asyncio.timeout(START_TIMEOUT):
                while process.poll() is None:
                    try:
                        _, writer = await asyncio.open_connection("127.0.0.1", port)
                    except OSError:
                        await asyncio.sleep(0.01)
                    else:
                        writer.close()
                        break
            assert process.poll() is None, (folder / "error.log").read_text()
            yield f"http://127.0.0.1:{port}", asked
        finally:
            process.terminate()


def _configuration(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("```nginx\n")[2].partition("```")[0]
