"""What is counted of artifacts, what the log says of them, and how much there is."""

import asyncio
import io
import json
from typing import Any

import pytest

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
from gateway.events.lifecycle import TurnWarning
from gateway.storage.artifacts import Stock
from gateway.telemetry.lines.logs import configure_logging
from gateway.telemetry.lines.turn_lines import Lines
from gateway.telemetry.observer import Observer
from tests.loopback import TIMEOUT
from tests.product import StorageError
from tests.telemetry.artifact_events import row
from tests.telemetry.counting import Counting
from tests.telemetry.story import CANARY, Story


def counted(*events: ArtifactEvent) -> Counting:
    counting = Counting()
    for news in events:
        counting.observer.notify(lambda reader, news=news: reader.artifact_event(news))
    return counting


def test_what_is_kept_is_counted_by_kind_and_source() -> None:
    """With its bytes and how long it took; what could not be kept with the code of the error."""
    counting = counted(
        Stored(row(), "tool", 0.5),
        Stored(row(kind="image", size=3000), "attachment", 0.25),
        StoreFailed("upload", "artifacts_full", 0.125),
    )

    size, took = "gateway_artifact_size_bytes", "gateway_artifact_keep_duration_seconds"
    of_tool, of_file = ({"gateway_artifact_source": source} for source in ("tool", "attachment"))
    assert counting.value(f"{size}_sum", {**of_tool, "gateway_artifact_kind": "csv"}) == 100
    assert counting.value(f"{size}_sum", {**of_file, "gateway_artifact_kind": "image"}) == 3000
    assert counting.value(f"{took}_sum", of_tool) == 0.5
    full = {"gateway_artifact_source": "upload", "error_type": "artifacts_full"}
    assert counting.value(f"{took}_sum", full) == 0.125
    assert counting.text.count(f"{size}_count{{") == 2
    for name in (CANARY, "李雷", "ART-"):
        assert name not in counting.text


def test_reads_are_counted_by_how_and_by_whom() -> None:
    """Refused ones with their code, and JSON paths that were stopped with the reason."""
    counting = counted(
        PartRead("lines", "model"),
        PartRead("lines", "model"),
        PartRead("json_path", "user", "json_path_too_slow"),
        PathStopped("memory"),
    )

    reads, stopped = "gateway_artifact_reads_total", "gateway_artifact_json_path_stopped_total"
    by_model = {"gateway_artifact_read": "lines", "gateway_artifact_by": "model"}
    by_user = {"gateway_artifact_read": "json_path", "gateway_artifact_by": "user"}
    assert counting.value(reads, by_model) == 2
    assert counting.value(reads, {**by_user, "error_type": "json_path_too_slow"}) == 1
    found = {name: counting.value(stopped, {"gateway_reason": name}) for name in ("time", "memory", "busy")}
    assert found == {"time": 0, "memory": 1, "busy": 0}


def test_what_is_passed_on_removed_or_damaged_is_counted() -> None:
    """What is rare has a series from the start, so that an increase sees the first of it."""
    damaged, removed = "gateway_artifact_damaged_total", "gateway_artifact_removed_total"
    warnings, passed = "gateway_artifact_warnings_total", "gateway_artifact_reference_size_bytes"
    before = counted()
    assert before.value(damaged, {"gateway_reason": "missing"}) == 0
    assert before.value(removed, {"gateway_artifact_removed": "blob"}) == 0
    assert before.value(warnings, {"gateway_warning_code": "attachment_not_shown"}) == 0

    counting = counted(
        PassedOn(300, part=False), PassedOn(50, part=True), Damaged(row(), missing=False), Swept(3, 2)
    )
    story = Story().begin()
    for code in ("artifact_not_kept", "summary_failed"):
        story.notify(TurnWarning(code=code, message=CANARY))
    counting.count(story)

    assert counting.value(f"{passed}_sum", {"gateway_artifact_passed": "whole"}) == 300
    assert counting.value(f"{passed}_sum", {"gateway_artifact_passed": "part"}) == 50
    assert counting.value(damaged, {"gateway_reason": "changed"}) == 1
    assert counting.value(removed, {"gateway_artifact_removed": "artifact"}) == 3
    assert counting.value(removed, {"gateway_artifact_removed": "blob"}) == 2
    assert counting.value(warnings, {"gateway_warning_code": "artifact_not_kept"}) == 1
    assert counting.text.count(f"{warnings}{{") == 2


def test_errors_that_somebody_invents_do_not_grow_the_process() -> None:
    """At most a hundred, and one for all others."""
    counting = counted(*(PartRead("bytes", "model", f"error_{number}") for number in range(300)))

    assert counting.text.count("gateway_artifact_reads_total{") == 101


def test_lines_name_what_was_kept_and_nothing_that_is_in_it() -> None:
    """What a tool's result was, an upload that failed, a damaged content with its hash, and a sweep."""
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    made = row(session_id="s_1", turn_id="t_1", tool_call_id="toolu_1")
    events: tuple[ArtifactEvent, ...] = (
        Stored(made, "tool", 0.5),
        Stored(row(), "upload", 0.5),
        StoreFailed("tool", "storage_full", 0.5, "s_1", "t_1"),  # its turn tells it
        StoreFailed("attachment", "storage_full", 0.5, None, "t_1"),
        Damaged(made, missing=True),
        Swept(0, 0),
        Swept(3, 2),
        PartRead("lines", "user"),
    )
    observer = Observer([Lines()])
    for news in events:
        observer.notify(lambda reader, news=news: reader.artifact_event(news))

    lines: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [
        "artifact_kept",
        "artifact_kept",
        "artifact_not_kept",
        "artifact_damaged",
        "artifacts_swept",
    ]
    by_tool, by_user, failed, damaged, swept = lines
    ids = {"session_id": "s_1", "turn_id": "t_1", "tool": "look", "tool_call_id": "toolu_1"}
    about = {"ref": made.ref, "kind": "csv", "size": 100}
    assert {**ids, **about, "source": "tool"}.items() <= by_tool.items()
    assert {**about, "source": "upload"}.items() <= by_user.items()
    assert not {"tool", "session_id", "turn_id"} & by_user.keys()
    assert (failed["code"], failed["source"], failed["turn_id"]) == ("storage_full", "attachment", "t_1")
    assert (damaged["level"], damaged["sha256"], damaged["reason"]) == ("error", made.sha256, "missing")
    assert (swept["expired"], swept["blobs"]) == (3, 2)
    assert CANARY not in stream.getvalue()
    assert "李雷" not in stream.getvalue()


class Store:
    """Fails at the first look."""

    def __init__(self) -> None:
        self.looks = 0
        self.looked = asyncio.Semaphore(0)

    async def stock(self) -> Stock:
        self.looks += 1
        self.looked.release()
        if self.looks == 1:
            raise StorageError("the disk is full")
        return Stock(7, 4096, 2)


@pytest.mark.anyio
async def test_the_store_is_counted_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is told before a look went well; one that fails is made again."""
    monkeypatch.setattr("gateway.telemetry.metrics.stored_metrics.INTERVAL", 0.001)
    monkeypatch.setattr("gateway.telemetry.metrics.stored_metrics.REST", 0)
    counting, store = Counting(), Store()
    assert counting.value("gateway_artifacts") is None

    task = asyncio.create_task(counting.metrics.artifacts.run(store))
    async with asyncio.timeout(TIMEOUT):
        for _ in range(3):  # the second is over when the third begins
            await store.looked.acquire()
    assert counting.value("gateway_artifacts") == 7
    assert counting.value("gateway_artifacts_stored_bytes") == 4096
    assert counting.value("gateway_artifact_blobs_doubtful") == 2

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert counting.value("gateway_artifacts") is None  # another process tells it from now on
