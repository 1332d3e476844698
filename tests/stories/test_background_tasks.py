"""Whatever a background task raises, wherever it waits: it goes on, and operators are told."""

import asyncio
import types
from collections import Counter
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

import pytest

from gateway.history.indexer import Indexer
from gateway.lifespan import background_tasks, process
from gateway.supervisor import Work
from tests.harness import TIMEOUT, Client, running_gateway
from tests.mcp_servers.serving import address
from tests.product import Settings, StorageError, Supervisor

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

TASKS = {
    "access that has ended",
    "MCP server gone",
    "MCP servers",
    "audit",
    "blob store",
    "count of artifacts",
    "count of deliveries",
    "count of memories",
    "database files",
    "deadlines of approvals",
    "documents",
    "erasure of persons",
    "leader",
    "learning",
    "limits",
    "memory suggestions",
    "memories to index anew",
    "model's endpoint",
    "old deliveries",
    "old entries of the audit",
    "operator's changes",
    "ownership of turns",
    "results of schedules",
    "schedules",
    "search index",
    "sessions to index",
    "sessions to learn from",
    "sessions with turns",
    "size of the database",
    "skills",
    "purge of rows",
    "titles",
    "upkeep",
    "vectors of memories",
    "webhooks",
    "what access is open",
    "who is being erased",
    "words of an earlier version",
}
"""All that a gateway starts where everything is switched on."""

KINDS: dict[str, Callable[[], BaseException]] = {
    "a mistake": lambda: KeyError("private words"),
    "the database": lambda: StorageError("private words"),
    "a timeout": lambda: TimeoutError("private words"),
    "several": lambda: ExceptionGroup("private words", [KeyError("private words")]),
    "a cancellation that nobody asked for": lambda: asyncio.CancelledError("private words"),
    "the end of an iteration": lambda: StopAsyncIteration("private words"),
}


class Fault:
    """Raises into a task once, at its await number `at`; or, when it does not come to that by itself, at the
    one it is at when it is `poked`. `survived` is set when the task waits for something after that."""

    def __init__(self, make: Callable[[], BaseException], at: int) -> None:
        self._make = make
        self._left = at
        self._task: asyncio.Task[Any] | None = None
        self._raised = False
        self._is_poked = False
        self.survived = asyncio.Event()

    def poke(self) -> None:
        if not self._raised and not self._is_poked and self._task is not None:
            self._is_poked = True
            self._task.cancel()

    async def run(self, work: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.current_task()
        await self._driven(work)

    @types.coroutine
    def _driven(self, work: Coroutine[Any, Any, None]) -> Generator[Any, Any, None]:
        try:
            awaited = work.send(None)
            while True:
                if not self._raised and self._left == 0:
                    self._raised = True
                    awaited = work.throw(self._make())
                self._left -= 1
                if self._raised:
                    self.survived.set()
                try:
                    value = yield awaited
                except asyncio.CancelledError as cancelled:
                    if self._is_poked and not self._raised and self._task is not None:
                        self._raised = True
                        self._task.uncancel()
                        awaited = work.throw(self._make())
                    else:
                        awaited = work.throw(cancelled)
                except BaseException as error:  # noqa: BLE001 - what was awaited failed: that is the task's
                    awaited = work.throw(error)
                else:
                    awaited = work.send(value)
        except StopIteration:
            return


class Faulty(Supervisor):
    """Raises into each of its tasks, and starts them again without a pause."""

    def __init__(self, make: Callable[[], BaseException], at: int) -> None:
        super().__init__(first_pause=0)
        self._make, self._at = make, at
        self.faults: dict[str, Fault] = {}
        self._starts = Counter[str]()
        self.failed_before = Counter[str]()
        """How often each task had failed when it was last begun; a leader begins its tasks anew."""

    async def keep(self, work: Work, name: str) -> None:
        self._starts[name] += 1
        self.failed_before[name] = self.failures[name]
        fault = self.faults[name] = Fault(self._make, self._at)
        await super().keep(lambda: fault.run(work()), name)

    async def survived(self, name: str) -> None:
        async with asyncio.timeout(TIMEOUT):
            while (fault := self.faults.get(name)) is None or not fault.survived.is_set():
                if fault is not None:
                    fault.poke()
                await asyncio.sleep(0.01)

    async def led_again(self) -> None:
        """The leader starts others anew after its own failure, each with a fault of its own."""
        async with asyncio.timeout(TIMEOUT):
            while self._starts["upkeep"] < 2:
                await asyncio.sleep(0.01)


@pytest.fixture
def everything(settings: Settings) -> Settings:
    """A gateway with all its background tasks; none of them has anything to do but to look."""
    return settings.model_copy(
        update={
            "mcp_servers": {"gone": address("http://127.0.0.1:9")},
            "embeddings_url": "http://127.0.0.1:9/v1",
            "embeddings_model": "none",
            "memory_learning": "turns",
            "summary_after": 3600.0,
            "archive_after": 3600.0,
        }
    )


async def failed(client: Client, before: Counter[str] | None = None) -> set[str]:
    """Those background tasks that failed more often than `before`, when `/readyz` and the metrics say the
    same: what a former leader's tasks failed with stays counted, and is no state of today's."""
    before = before or Counter()
    async with asyncio.timeout(TIMEOUT):
        while True:
            counted, ready = await failures(client), await client.get("/readyz")
            assert ready.status_code == 200
            assert "private" not in ready.text
            if (failing := set(ready.json().get("failing_tasks", {}))) == {
                name for name, times in counted.items() if times > before[name]
            }:
                return failing


async def failures(client: Client) -> dict[str, float]:
    """How often each background task failed, as the metrics say."""
    head, text = "gateway_background_failures_total{gateway_task=", (await client.get("/metrics")).text
    lines = [line.removeprefix(head).rsplit("} ", 1) for line in text.splitlines() if line.startswith(head)]
    return {name.strip('"'): float(count) for name, count in lines}


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("kind", KINDS)
async def test_every_background_task_survives_whatever_is_raised_at_whatever_await(
    kind: str, at: int, everything: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them at once, at their first, second or third await or where they rest: each waits for its work
    again, turns are taken, and what had to be started again is told by `/readyz` and counted."""
    supervisor = Faulty(KINDS[kind], at)
    monkeypatch.setattr(process, "Supervisor", lambda: supervisor)
    monkeypatch.setattr(background_tasks, "Indexer", partial(Indexer, first_retry=0.01))
    async with running_gateway(everything) as client:
        for fault in supervisor.faults.values():
            fault.poke()
        await supervisor.survived("leader")
        await supervisor.led_again()
        for name in TASKS:
            try:
                await supervisor.survived(name)
            except TimeoutError:
                pytest.fail(f"{name} is dead")

        assert set(supervisor.faults) == set(await failures(client)) == TASKS
        assert await failed(client, supervisor.failed_before) <= TASKS
        assert (await client.chat("/say hello"))[-1]["data"]["status"] == "completed"
        await asyncio.wait_for(client.app.state.indexer.settled(), TIMEOUT)
