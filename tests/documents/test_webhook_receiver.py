"""The receiver of docs/webhooks.md, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx2

from gateway.service.webhook_messages import headers, new_secret
from tests.documents.blocks import ROOT
from tests.loopback import TIMEOUT, free_port
from tests.product import now_ms


def test_it_takes_what_is_signed_once(tmp_path: Path) -> None:
    """What was changed, is signed with another secret or is old is refused; what comes again is not done
    again."""
    page = (ROOT / "docs" / "webhooks.md").read_text(encoding="utf-8")
    program = re.search(r"^```python\n(.+?)^```$", page, re.DOTALL | re.MULTILINE)
    assert program
    (tmp_path / "receiver.py").write_text(program[1])
    secret, port = new_secret(), free_port()
    environment = {**os.environ, "SECRET": secret, "PORT": str(port)}
    command = [sys.executable, "receiver.py"]
    body, now = b'{"type":"turn.finished","data":{"turn_id":"t_1"}}', now_ms()
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            posts = [
                (headers("msg_1", body, secret, now), body, 204),
                (headers("msg_1", body, secret, now), body, 204),
                (headers("msg_2", body, secret, now), body + b" ", 401),
                (headers("msg_2", body, new_secret(), now), body, 401),
                (headers("msg_2", body, secret, now - 600_000), body, 401),
                (headers("msg_3", body, secret, now), body, 204),
            ]
            with httpx2.Client(
                transport=httpx2.HTTPTransport(retries=100), timeout=TIMEOUT, trust_env=False
            ) as client:
                for given, content, status in posts:
                    found = client.post(f"http://127.0.0.1:{port}/", content=content, headers=given)
                    assert found.status_code == status
            assert process.stdout is not None
            # It answers before it prints: both lines are waited for, then nothing more may come.
            for _ in range(2):
                assert process.stdout.readline() == b"turn.finished {'turn_id': 't_1'}\n"
        finally:
            process.terminate()
        assert process.stdout.read() == b""
