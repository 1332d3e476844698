"""MCP clients that take JSON and no stream of events."""

from pathlib import Path

import pytest

from tests.harness import running_gateway, settings_for

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json", "application/json"),
        ("application/json, text/event-stream", "text/event-stream"),
        ("*/*", "text/event-stream"),
    ],
)
async def test_who_accepts_json_alone_gets_json(tmp_path: Path, accept: str, kind: str) -> None:
    """Others get events, as they say or do not say."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with running_gateway(settings_for(tmp_path, "http://127.0.0.1:9")) as client:
        answer = await client.http.post("/mcp", json=message, headers={"accept": accept})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(kind)
