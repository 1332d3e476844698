"""Whoever counts hears of what happens to artifacts, by whichever door it happens."""

import json
from pathlib import Path

import pytest

from gateway.artifacts.artifact_store import CANDIDATE_TIME, Origin
from gateway.artifacts.content import text_content
from gateway.artifacts.reading import read_part, selector_of
from gateway.artifacts.store_events import (
    ArtifactEvent,
    Damaged,
    PartRead,
    PassedOn,
    PathStopped,
    Stored,
    StoreFailed,
    Swept,
)
from gateway.artifacts.tool_arguments import References
from gateway.errors import ArtifactDamaged, TooLarge
from gateway.storage.artifacts import Stock
from tests.artifacts.store_folder import ORIGIN, StoreFolder
from tests.product import InvalidRequest
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

ROWS = json.dumps([{"name": "王芳"}] * 50, ensure_ascii=False)


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        (Origin(OWNER), "upload"),
        (Origin(OWNER, turn_id="t_1"), "attachment"),
        (Origin(OWNER, turn_id="t_1", tool_call_id="toolu_1"), "tool"),
    ],
)
async def test_what_is_kept_and_what_is_not_is_told_with_its_source(
    backing: StoreFolder, origin: Origin, source: str
) -> None:
    """Once, with the row or the code of the error."""
    events: list[ArtifactEvent] = []
    artifact_store = backing.artifact_store(on_event=events.append, artifact_max_size=1024)

    row = await artifact_store.put(text_content("rows"), origin)
    with pytest.raises(TooLarge):
        await artifact_store.put(text_content("rows" * 1000), origin)

    kept, refused = events
    assert isinstance(kept, Stored)
    assert (kept.row, kept.source) == (row, source)
    assert isinstance(refused, StoreFailed)
    assert (refused.source, refused.code, refused.turn_id) == (source, TooLarge.code, origin.turn_id)


async def test_reads_and_references_are_told(backing: StoreFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """By how and by whom, refused ones with their code; a path that was stopped with the reason."""
    events: list[ArtifactEvent] = []
    artifact_store = backing.artifact_store(on_event=events.append)
    row = await artifact_store.put(text_content(ROWS), ORIGIN)
    references = References(artifact_store, most_bytes=100_000)
    events.clear()

    await read_part(artifact_store, row, selector_of(lines="1"))
    await read_part(artifact_store, row, selector_of(search="王芳"), by="user")
    with pytest.raises(InvalidRequest) as refused:
        await read_part(artifact_store, row, selector_of(bytes="999999-"))
    given = {"all": {"$artifact": row.ref}, "one": {"$artifact": row.ref, "json_path": "$[0].name"}}
    filled = await references.filled(given, owner=OWNER, session_id="s_1")
    monkeypatch.setattr("gateway.artifacts.reading.json_path.WALL_SECONDS", 0.0)
    with pytest.raises(InvalidRequest):
        await read_part(artifact_store, row, selector_of(json_path="$[0]"))

    assert filled == {"all": ROWS, "one": "王芳"}
    passed = [news for news in events if isinstance(news, PassedOn)]
    assert sorted(news.part for news in passed) == [False, True]
    assert [news for news in events if not isinstance(news, PassedOn)] == [
        PartRead("lines", "model"),
        PartRead("search", "user"),
        PartRead("bytes", "model", refused.value.code),
        PathStopped("time"),
        PartRead("json_path", "model", "json_path_too_slow"),
    ]


@pytest.mark.parametrize("missing", [True, False])
async def test_a_damaged_content_is_told_when_it_is_asked_for(backing: StoreFolder, missing: bool) -> None:
    """With which it is, and whether it is gone or changed."""
    events: list[ArtifactEvent] = []
    artifact_store = backing.artifact_store(on_event=events.append)
    row = await artifact_store.put(text_content(ROWS), ORIGIN)
    blob = Path(backing.folder, *backing.files())
    blob.unlink() if missing else blob.write_bytes(b"something else")

    with pytest.raises(ArtifactDamaged):
        await artifact_store.read(row, 0, 10)

    assert events[1:] == [Damaged(row, missing=missing)]


async def test_a_sweep_is_told_and_the_stock_is_what_is_left(backing: StoreFolder) -> None:
    """Two artifacts of one content take its bytes once; both and the blob go when their time is over."""
    events: list[ArtifactEvent] = []
    artifact_store = backing.artifact_store(on_event=events.append)
    _, row = [await artifact_store.put(text_content(ROWS), ORIGIN) for _ in range(2)]
    full = await backing.store.stock()

    swept = await artifact_store.sweep(row.expires_at + 1)
    between = await backing.store.stock()
    cleared = await artifact_store.sweep(row.expires_at + CANDIDATE_TIME + 2)

    assert full == Stock(2, row.size, 0)
    assert between == Stock(0, 0, 1)
    assert await backing.store.stock() == Stock(0, 0, 0)
    assert events[2:] == [swept, cleared] == [Swept(2, 0), Swept(0, 1)]
