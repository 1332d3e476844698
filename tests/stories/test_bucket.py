"""Archives and artifacts in an object store that is away for a while, or has lost something."""

import asyncio
import json
import secrets
from collections.abc import Iterator

import httpx2
import pytest
from structlog.testing import capture_logs

from tests.bucket import Bucket, bucket
from tests.harness import TIMEOUT, running_gateway, text_of, the
from tests.product import Settings, tool

pytestmark = pytest.mark.anyio


@tool(effect="read_only")
def rows() -> str:
    """Gives much."""
    return secrets.token_hex(100_000)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as found:
        yield found


@pytest.fixture
def settings(settings: Settings, store: Bucket) -> Settings:
    return settings.model_copy(update={"blob_url": f"{store.address}/p"})


async def test_a_store_that_is_away_cuts_the_result_and_not_the_turn(
    settings: Settings, store: Bucket
) -> None:
    """People are told so, and operators where it is; nothing half-stored is listed, and once the store is
    back results are kept."""
    async with running_gateway(settings, rows) as client:
        store.fail("overloaded")
        with capture_logs() as lines:
            during = await client.chat("/call rows {}\n/then\n/say over")
            listed = (await client.get("/api/artifacts")).json()["artifacts"]
            refused = await client.http.post(
                "/api/artifacts", content=b"x" * 100, headers={"content-type": "text/plain"}
            )
        store.fail(None)
        after = await client.chat("/call rows {}\n/then\n/say over")
        (artifact,) = [each["data"] for each in after if each["type"] == "artifact"]
        content = await client.get(f"/api/artifacts/{artifact['ref']}")

    assert [each["data"]["code"] for each in during if each["type"] == "warning"] == ["artifact_not_kept"]
    assert (text_of(during), the(during, "done")["status"]) == ("over", "completed")
    assert listed == []
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_unavailable")
    assert (content.status_code, len(content.content)) == (200, 200_000)
    name = settings.blob_url.split("/")[2] if settings.blob_url else ""
    for hidden in (name, "127.0.0.1", "http:"):
        assert hidden not in f"{during}{refused.text}"
    for event in ("artifact_not_kept", "request_refused"):
        assert name in next(line["error"] for line in lines if line["event"] == event)


@pytest.mark.parametrize("missing", [True, False], ids=["no bucket", "away"])
async def test_a_store_that_cannot_be_used_is_told_at_the_start(
    settings: Settings, store: Bucket, capsys: pytest.CaptureFixture[str], *, missing: bool
) -> None:
    """In the log, with its address and why, and by /readyz; turns are taken without it, and once it is back
    nothing is left to tell."""
    name = store.address.removeprefix("s3://")
    if missing:
        store.change(httpx2.delete, name)
    else:
        store.fail("away")
    async with running_gateway(settings, rows) as client, asyncio.timeout(TIMEOUT):
        while not (failing := (await client.get("/readyz")).json().get("failing_tasks")):
            await asyncio.sleep(0.02)
        answer = await client.chat("/call rows {}\n/then\n/say over")
        if missing:
            store.change(httpx2.put, name)
        store.fail(None)
        while (await client.get("/readyz")).json().get("failing_tasks"):
            await asyncio.sleep(0.02)

    assert failing["blob store"]["why"] == "storage_unavailable"
    assert the(answer, "done")["status"] == "completed"
    assert [each["data"]["message"] for each in answer if each["type"] == "warning"] == [
        "rows: the result could not be kept aside: The blob store failed."
    ]
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    told = next(line for line in lines if line["event"] == "blob_store_unusable")
    assert told["store"] == settings.blob_url
    assert ("no such bucket" if missing else "Error performing PUT") in told["error"]
    assert store.objects() == []


async def test_a_store_that_is_away_has_nothing_archived_and_nothing_lost(
    settings: Settings, store: Bucket
) -> None:
    """The session stays as it was, and is archived once the store is back."""
    async with running_gateway(settings) as client:
        said = await client.chat("Hello", session_id="s")
        store.fail("away")
        refused = await client.http.post("/api/sessions/s/archive")
        assert await client.events("s") == said
        store.fail(None)
        archived = await client.http.post("/api/sessions/s/archive")
        assert await client.events("s") == said
        more = await client.chat("And more", session_id="s")
        left = await client.app.state.deps.orphans.candidates(2**62, 99)

        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_unavailable")
        assert archived.status_code == 200
        assert the(more, "done")["status"] == "completed"
        named = {f"p/{row.events_path}" for row in await client.app.state.deps.archives.list("s")}
        named |= {f"p/{row.messages_path}" for row in await client.app.state.deps.archives.list("s")}
        stored = {key for key in store.objects() if not key.startswith("p/tried/")}  # as at the start
        assert named <= stored <= named | {f"p/{path}" for path in left}


async def test_a_lost_object_is_damage_that_is_named(settings: Settings, store: Bucket) -> None:
    """Of an archive, and of an artifact; what is not in it can still be read."""
    async with running_gateway(settings, rows) as client:
        seen = await client.chat("/call rows {}\n/then\n/say over", session_id="s")
        (artifact,) = [each["data"] for each in seen if each["type"] == "artifact"]
        assert (await client.http.post("/api/sessions/s/archive")).status_code == 200
        after = await client.chat("/say later", session_id="s")
        for key in store.objects():
            store.lose(key)

        content = await client.get(f"/api/artifacts/{artifact['ref']}")
        old = await client.get("/api/sessions/s/events?after=0&follow=0")
        new = await client.events("s", after=after[0]["seq"] - 1)

    assert (content.status_code, content.json()["error"]["code"]) == (500, "artifact_damaged")
    assert artifact["ref"] in content.text
    assert "archive_damaged" in old.text
    assert new == after
