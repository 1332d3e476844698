"""What is counted of recalls, changes, learning, documents, embeddings, and of what there is."""

import asyncio
from collections.abc import Mapping

import pytest

from gateway.events.lifecycle import TurnWarning
from gateway.storage.memories import MemoryType, Status
from gateway.telemetry.metrics import instrument_table as table
from tests.loopback import TIMEOUT
from tests.product import StorageError
from tests.telemetry.counting import Counting
from tests.telemetry.remembered import changed, learned, recalled
from tests.telemetry.story import CANARY, MODEL, Story

Census = Mapping[tuple[MemoryType, Status, bool], int]


def mode(name: str, degraded: str = "false") -> dict[str, str]:
    return {"gateway_retrieval_mode": name, "gateway_retrieval_degraded": degraded}


def test_recalls_are_counted_by_mode_and_whether_they_lacked_something() -> None:
    """With what they told, what the model knew, what did not fit, and how long the search took."""
    story = recalled(Story().begin(), "snapshot", omitted=5)
    recalled(recalled(story, duration_ms=3), "details", duration_ms=700, degraded=True)

    counting = Counting().count(story.found("docs"))

    recalls, found = "gateway_memory_recalls_total", "gateway_memory_found_total"
    assert counting.value(recalls, mode("snapshot")) == 1
    assert counting.value(recalls, mode("catalog")) == 1
    assert counting.value(recalls, mode("details", "true")) == 1
    told = {
        name: counting.value(found, {"gateway_memory_told": name}) for name in ("now", "before", "omitted")
    }
    assert told == {"now": 6, "before": 3, "omitted": 5}
    seconds = "gateway_memory_search_duration_seconds"
    assert counting.value(f"{seconds}_sum", {"gateway_retrieval_mode": "catalog"}) == 0.003
    assert counting.value(f"{seconds}_sum", {"gateway_retrieval_mode": "details"}) == 0.7
    assert counting.text.count(f"{seconds}_count{{") == 2  # what stands in the prompt is no search


def test_warnings_about_the_memory_have_a_series_from_the_start() -> None:
    """So that an increase sees the first of them; other warnings are not counted here."""
    counting = Counting()
    code = {name: {"gateway_warning_code": name} for name in ("memory_unavailable", "memory_changed")}
    warnings = "gateway_memory_warnings_total"
    assert [counting.value(warnings, each) for each in code.values()] == [0, 0]

    story = Story().begin()
    for each in ("memory_unavailable", "memory_unavailable", "summary_failed"):
        story.notify(TurnWarning(code=each, message=CANARY))
    counting.count(story)

    assert counting.value(warnings, code["memory_unavailable"]) == 2
    assert counting.text.count(f"{warnings}{{") == 2


def test_changes_are_counted_by_who_made_them_and_name_nobody() -> None:
    """The model, the keeper, a tool in a turn, or else a user."""
    counting = Counting()
    for each in (
        changed("remembered", "model", turn_id="t_1", type="preference"),
        changed("replaced", "keeper", turn_id="t_1", type="preference"),
        changed("remembered", "order-desk", turn_id="t_1", type="preference", quarantined=True),
        changed("deleted", "李雷", type="preference"),
        changed("deleted", "鲁迅", type="preference"),
    ):
        counting.observer.notify(lambda reader, each=each: reader.memory_changed(each))

    for op, by, count in (
        ("remembered", "model", 1),
        ("corrected", "keeper", 1),
        ("remembered", "tool", 1),
        ("forgotten", "user", 2),
    ):
        about = {"gateway_memory_op": op, "gateway_memory_by": by, "gateway_memory_type": "preference"}
        assert counting.value("gateway_memory_changes_total", about) == count, about
    for name in ("李雷", "鲁迅", "order-desk", CANARY):
        assert name not in counting.text


def test_conversations_that_were_read_are_timed() -> None:
    """With the code of what failed, and why offers were dropped."""
    counting = Counting()
    for run in (learned(), learned(error="learning_failed", usage=None, changed=[], dropped={})):
        counting.observer.notify(lambda reader, run=run: reader.learned(run))

    seconds, about = "gateway_memory_learning_duration_seconds", {"gen_ai_request_model": MODEL}
    assert counting.value(f"{seconds}_sum", about) == 2
    assert counting.value(f"{seconds}_count", {**about, "error_type": "learning_failed"}) == 1
    dropped = "gateway_memory_learning_dropped_total"
    assert counting.value(dropped, {"gateway_reason": "not_said"}) == 1
    assert counting.value(dropped, {"gateway_reason": "known"}) == 1


def test_reasons_and_errors_that_somebody_invents_do_not_grow_the_process() -> None:
    """At most a hundred of each, and one for all others."""
    counting = Counting()
    for number in range(300):
        run = learned(error=f"error_{number}", dropped={f"reason_{number}": 1})
        counting.observer.notify(lambda reader, run=run: reader.learned(run))

    assert counting.text.count("gateway_memory_learning_dropped_total{") == 101
    assert counting.text.count("gateway_memory_learning_duration_seconds_count{") == 101


def test_documents_and_embeddings_are_looked_up_when_they_are_asked_for() -> None:
    """Documents in use and out of it, files to be mended; requests by what for and how they failed."""
    counting, warnings, asked = Counting(), [0], dict[tuple[str, str | None], int]()
    counting.metrics.observe(table.DOCUMENT_WARNINGS, lambda: warnings[0])
    counting.metrics.observe(table.EMBEDDINGS, lambda: asked)
    assert counting.value("gateway_document_warnings") == 0

    warnings[0] = 1
    asked["query", None], asked["document", "embeddings_timeout"] = 7, 2

    assert counting.value("gateway_document_warnings") == 1
    requests = "gateway_embeddings_requests_total"
    assert counting.value(requests, {"gateway_embeddings_kind": "query"}) == 7
    failed = {"gateway_embeddings_kind": "document", "error_type": "embeddings_timeout"}
    assert counting.value(requests, failed) == 2


class Store:
    """Counts how often it is counted, and fails the first time."""

    def __init__(self) -> None:
        self.at, self.counted, self.asked = 1, 0, asyncio.Semaphore(0)

    async def state(self) -> int:
        self.asked.release()
        return self.at

    async def census(self) -> Census:
        self.counted += 1
        if self.counted == 1:
            raise StorageError("the disk is full")
        return {("preference", "active", False): 2, ("fact", "active", True): self.at}

    async def looked_at(self) -> None:
        """Returns when a look that begins now is over."""
        while not self.asked.locked():
            await self.asked.acquire()
        for _ in range(2):
            await self.asked.acquire()


@pytest.mark.anyio
async def test_the_store_is_counted_again_only_when_something_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A store that fails is asked again, and what was known stays."""
    monkeypatch.setattr("gateway.telemetry.metrics.stored_metrics.INTERVAL", 0.001)
    monkeypatch.setattr("gateway.telemetry.metrics.stored_metrics.REST", 0)
    counting, store = Counting(), Store()
    waiting = {
        "gateway_memory_type": "fact",
        "gateway_memory_status": "active",
        "gateway_memory_quarantined": "true",
    }
    async with asyncio.timeout(TIMEOUT):
        task = asyncio.create_task(counting.metrics.memories.run(store))
        await store.looked_at()
        await store.looked_at()
        assert counting.value("gateway_memories", waiting) == 1
        assert store.counted == 2
        store.at = 9
        await store.looked_at()
        assert counting.value("gateway_memories", waiting) == 9
        assert store.counted == 3
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
