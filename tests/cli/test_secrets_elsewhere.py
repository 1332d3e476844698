"""Secrets and encrypted memories are nowhere but where they belong: of a real gateway, its whole output, what
its collector is sent, what commands print, and the bytes of its folder while it runs."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.calling import Command
from tests.product import new_key
from tests.running import gateway_process
from tests.telemetry.collector import Collector, running_collector

ADA, BOB = "ada-0123456789abcdef", "bob-0123456789abcdef"
OWN, SHARED, GATEWAYS = "sk-canary-of-bob-0001", "sk-canary-of-all-0002", "sk-canary-gateway-0003"
PASSWORD, EMBEDDINGS = "canary-password-0004", "canary-embeddings-0005"
REMEMBERED, TAG, NAME = "quokkanary", "tagcanary", "namecanary"


@pytest.fixture
def collector() -> Generator[Collector]:
    with running_collector() as running:
        yield running


def test_no_secret_is_logged_traced_measured_printed_or_readable_in_a_file(
    command: Command, tmp_path: Path, collector: Collector
) -> None:
    """At its most talkative, with traces and metrics sent to a collector over a socket."""
    key = new_key()
    settings: dict[str, Any] = {
        "GATEWAY_API_KEYS": f"ada:{ADA},bob:{BOB}",
        "GATEWAY_ADMINS": "ada",
        "GATEWAY_ENCRYPTION_KEYS": key,
        "GATEWAY_ENCRYPT_CONTENTS": "true",
        "GATEWAY_LOG_LEVEL": "debug",
        "GATEWAY_DATA_DIR": str(tmp_path / "data"),
        "ANTHROPIC_API_KEY": GATEWAYS,
    }
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "20"}
    addresses: dict[str, Any] = {
        "ANTHROPIC_BASE_URL": f"https://u:{PASSWORD}@models.example/?key={PASSWORD}",
        "GATEWAY_EMBEDDINGS_URL": f"https://vectors.example/v1/embeddings?key={EMBEDDINGS}",
    }
    with gateway_process(tmp_path, **settings, **told) as gateway:
        client = httpx2.Client(base_url=gateway.url, trust_env=False, timeout=60)

        def ask(method: str, path: str, who: str = BOB, **more: Any) -> httpx2.Response:
            answer = client.request(method, path, headers={"authorization": f"Bearer {who}"}, **more)
            assert answer.is_success, answer.text
            return answer

        ask("PUT", "/api/provider-key", json={"key": OWN})
        ask("PUT", "/api/tenant/provider-key", ADA, json={"key": SHARED})
        hook = ask("POST", "/api/webhooks", json={"url": "https://hooks.example/"}).json()
        body = {"content": f"The {REMEMBERED} sleeps at noon", "tags": [TAG]}
        memory = ask("POST", "/api/memory", json=body).json()
        ask("PATCH", f"/api/memory/{memory['id']}", json={"content": f"The {REMEMBERED} sleeps at one"})
        ask("PUT", "/api/profiles/user/bob", json={"fields": {"nickname": NAME}})
        found = ask("GET", f"/api/memory?q={REMEMBERED}").json()["memories"]
        turn = ask("POST", "/api/chat", json={"message": "/say yes"}).text
        session = json.loads(turn.split("data: ")[1].splitlines()[0])["session_id"]
        answers = [ask("GET", path).text for path in ("/api/provider-key", f"/api/sessions/{session}/export")]
        answers += [
            ask("GET", path, ADA).text for path in ("/api/audit", "/metrics", "/api/tenant/provider-key")
        ]
        at = ("--url", gateway.url, "--key")
        printed = [
            command("config", **settings, **addresses),
            command("config", "--json", **settings, **addresses),
            command("sessions", "list", *at, BOB),
            command("provider-keys", "show", *at, BOB),
            command("webhooks", "list", *at, BOB),
            command("secrets", "rotate", *at, ADA),
        ]
        looked = command("doctor", **settings, **addresses)  # of models that are nowhere
        raw = _bytes(tmp_path / "data")
        memories = _bytes(tmp_path / "data", "memory.db*")
        assert gateway.stop() == 0
        logged = gateway.output.read_text()
    client.close()

    assert [row["content"] for row in found] == [f"The {REMEMBERED} sleeps at one"]
    assert collector.spans != [], "something was traced"
    assert collector.metrics != [], "something was measured"
    assert "turn" in logged, "something was logged"
    assert [each.code for each in printed] == [0] * len(printed), [each.err for each in printed]
    printed.append(looked)
    said = logged + "".join(answers) + "".join(each.out + each.err for each in printed)
    sent = collector.bytes + raw + _bytes(tmp_path / "data")
    for secret in (OWN, SHARED, GATEWAYS, PASSWORD, EMBEDDINGS, key, hook["secret"]):
        assert secret not in said, secret[:10]
        assert secret.encode() not in sent, secret[:10]
    for secret in (ADA, BOB):
        assert secret not in logged
        assert secret.encode() not in sent
    for secret in (REMEMBERED, TAG, NAME):
        assert secret not in logged + "".join(each.out + each.err for each in printed)
        assert secret.encode() not in collector.bytes
        assert secret.encode() not in memories + _bytes(tmp_path / "data", "memory.db*")


def _bytes(folder: Path, which: str = "*") -> bytes:
    """Of all files: databases, their write-ahead logs, blobs."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob(which)) if path.is_file())
