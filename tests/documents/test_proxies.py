"""The settings of nginx on the pages let a stream through as it comes."""

import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from bench.cache import PROGRAM
from tests.documents.blocks import ROOT
from tests.loopback import TIMEOUT, free_port
from tests.running import gateway_process

CONFIGURATION = """
daemon off; pid {folder}/pid; error_log {folder}/log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; {location} }}
}}
"""


@contextmanager
def behind_nginx(page: str, gateway: str, folder: Path) -> Generator[str]:
    """nginx with the first location of a page, in front of the gateway."""
    text = (ROOT / page).read_text(encoding="utf-8").partition("```nginx\n")[2].partition("```")[0]
    location = text.replace("http://127.0.0.1:8000", gateway)
    port = free_port()
    file = folder / "nginx.conf"
    file.write_text(CONFIGURATION.format(folder=folder, port=port, location=location))
    assert PROGRAM is not None
    with subprocess.Popen([PROGRAM, "-p", folder, "-c", file], stderr=subprocess.DEVNULL) as process:
        try:
            prefix = re.findall(r"location (\S+) \{", location)[0].rstrip("/")
            yield f"http://127.0.0.1:{port}{prefix}"
        finally:
            process.terminate()


@pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")
@pytest.mark.parametrize("page", ["docs/frontend.md", "docs/streaming.md"])
def test_an_event_comes_through_while_the_stream_is_open(page: str, tmp_path: Path) -> None:
    """The turn waits for a person, and the request for that is there; the page is, too."""
    body = {"message": "Note that the door code is 4711."}
    retries = httpx2.HTTPTransport(retries=10)
    with (
        gateway_process(tmp_path) as gateway,
        behind_nginx(page, gateway.url, tmp_path) as url,
        httpx2.Client(transport=retries, timeout=TIMEOUT) as http,
    ):
        assert http.get(f"{url}/readyz").status_code == 200
        with http.stream("POST", f"{url}/api/chat", json=body) as answer:
            assert any(line == "event: approval_request" for line in answer.iter_lines())
