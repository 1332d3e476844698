"""Results that are offloaded, read in parts and passed on, or too large for it; files of messages; and
contents that are removed from the disk."""

import base64
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.tools.base import FunctionTool
from gateway.tools.function import tool
from tests.artifacts.files import png
from tests.harness import Client, the

LIMIT = 262_144
OFFLOADS: Mapping[str, Any] = {"artifact_max_size": LIMIT}
"""Settings of a gateway that these turns are told to."""
PICTURE = {"name": "照片.png", "data": base64.b64encode(png(64, 48)).decode()}
REF = "{{artifact}}"
READS: tuple[Mapping[str, str], ...] = (
    {"lines": "2-5"},
    {"bytes": "0-100"},
    {"json_path": "$[7].name"},
    {"search": "王芳"},
    {"json_path": "$["},
    {"lines": "9999999-"},
)
PASSED: tuple[Mapping[str, str], ...] = ({"$artifact": REF}, {"$artifact": REF, "json_path": "$[0:3]"})


def offload_tools(folder: Path) -> tuple[FunctionTool, ...]:
    """What these turns call; `folder` is that of the data."""

    @tool(effect="read_only")
    def customers() -> str:
        """More of them than a model should read."""
        return json.dumps(
            [{"name": f"王芳 {number}"} for number in range(4000)], ensure_ascii=False, indent=0
        )

    @tool(effect="read_only")
    def flood() -> str:
        """More than an artifact may have."""
        return "so on and so forth " * (LIMIT // 10)

    @tool(effect="read_only")
    def count(rows: Any) -> str:
        """How much it was given."""
        return str(len(rows))

    @tool(effect="idempotent")
    def shred() -> str:
        """Loses every content."""
        shutil.rmtree(folder / "blobs" / "artifacts")
        return "shredded"

    return customers, flood, count, shred


async def offload_round(client: Client) -> list[dict[str, Any]]:
    """Every event of a turn whose result was offloaded, read and passed on."""
    calls = [f"/call read_artifact {json.dumps({'ref': REF, **part}, ensure_ascii=False)}" for part in READS]
    calls += [f"/call count {json.dumps({'rows': reference})}" for reference in PASSED]
    script = ["/call customers {}", "/then", *calls, "/then", "/say Read."]
    found = await client.chat("\n".join(script))
    ref = the(found, "artifact")["ref"]
    for query, status in (
        ("lines=1-2", 200),
        ("search=王芳", 200),
        ("bytes=9-1", 400),
        ("lines=9999999", 400),
    ):
        assert (await client.get(f"/api/artifacts/{ref}?{query}")).status_code == status
    await client.chat("/call flood {}\n/then\n/say Too much.")
    session = await client.session()
    await client.chat("/say A picture.", session_id=session, attachments=[PICTURE])
    sent = await client.http.post(
        "/api/artifacts", content="一些笔记\n", headers={"content-type": "text/plain"}
    )
    assert sent.status_code == 201, sent.text
    await client.chat("/call shred {}\n/then\n/say Gone.")
    lost = await client.chat("/say Which picture?", session_id=session)
    assert the(lost, "warning")["code"] == "attachment_not_shown"
    return found
