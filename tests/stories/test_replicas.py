"""Several processes on one PostgreSQL database: one ends, stands still or leaves, and another goes on with
its turns, in the streams that are open."""

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gateway.turn import replica_heartbeat
from tests.harness import TIMEOUT, Client, client_at, events, text_of, the, types
from tests.postgres import needs_postgres, new_database
from tests.running import Running, limited_gateway_process
from tests.skills.writing import write_skill
from tests.stories.replica_tools import SECONDS, TOLD

pytestmark = [*needs_postgres, pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

METRICS = re.compile(r"(http://[\d.:]+)/metrics")
TURNS = re.compile(r"^gateway_turns_total\{.*\} (\S+)", re.MULTILINE)
WAITS_OVER = {signal.SIGKILL: "killed", signal.SIGSTOP: "stands still", signal.SIGTERM: "leaves"}


@dataclass(frozen=True)
class Replica:
    """A process, and a user of it."""

    process: Running
    client: Client


Start = Callable[..., Any]


@asynccontextmanager
async def replicas(folder: Path, demo_url: str, **given: str) -> AsyncGenerator[Start]:
    """Starts replicas of one new database, by name."""
    shared = {
        "ANTHROPIC_BASE_URL": demo_url,
        "GATEWAY_DATABASE_URL": new_database(),
        "GATEWAY_BLOB_URL": f"file://{folder}/blobs",
        "GATEWAY_BLOBS_SHARED": "true",
        "GATEWAY_LEASE": "6",
        "GATEWAY_SHUTDOWN_GRACE": "10",
        "GATEWAY_TOOL_POLICY": "*=allow",
        "GATEWAY_SKILL_MODULES": "tests.stories.replica_tools",
        TOLD: str(folder / "told"),
        SECONDS: "0.1",
    } | given
    async with AsyncExitStack() as stack:

        async def start(
            name: str, *arguments: str, begin: Callable[[], None] | None = None, **more: str
        ) -> Replica:
            home = folder / name
            home.mkdir()
            environment = {**shared, "GATEWAY_REPLICA": name, **more}
            starting = limited_gateway_process(home, None, "serve", *arguments, begin=begin, **environment)
            process = await asyncio.to_thread(stack.enter_context, starting)
            return Replica(process, await stack.enter_async_context(client_at(process.url)))

        yield start


@dataclass
class Following:
    """The stream of a turn, on one replica."""

    task: "asyncio.Task[list[dict[str, Any]]]"
    seen: list[dict[str, Any]]
    changed: asyncio.Event

    async def until(self, kind: str, count: int) -> None:
        """Returns when so many events of that type came."""
        async with asyncio.timeout(TIMEOUT):
            while sum(event["type"] == kind for event in self.seen) < count:
                self.changed.clear()
                await self.changed.wait()

    async def whole(self) -> list[dict[str, Any]]:
        """The events of one and the same stream, from the first to the done of the turn."""
        async with asyncio.timeout(TIMEOUT):
            return await self.task


def follow(client: Client, session: str, turn: str) -> Following:
    """Follows a turn on that replica."""
    seen: list[dict[str, Any]] = []
    changed = asyncio.Event()

    async def follows() -> list[dict[str, Any]]:
        async with client.frames(f"/api/sessions/{session}/events?turn_id={turn}") as frames:
            async for frame in frames:
                if not frame.event.startswith("stream_"):
                    seen.append(frame.data)
                    changed.set()
        return seen

    return Following(asyncio.create_task(follows()), seen, changed)


async def replayed(client: Client, session: str, turn: str) -> list[dict[str, Any]]:
    """All events of the turn, as the log has them."""
    return events(await client.all_frames(f"/api/sessions/{session}/events?turn_id={turn}&follow=0"))


def checked(seen: list[dict[str, Any]], replay: list[dict[str, Any]]) -> None:
    """No number is missing or twice, there is one end, and the log says the same."""
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert sum(event["type"] == "done" for event in seen) == 1
    assert seen == replay


@pytest.mark.parametrize("how", WAITS_OVER, ids=WAITS_OVER.get)
async def test_the_same_stream_goes_on_when_the_owner_is_gone(
    tmp_path: Path, demo_url: str, how: signal.Signals
) -> None:
    """In the middle of an answer its replica is killed, or stands still and goes on later, or is told to end;
    who follows the turn elsewhere gets every byte in the stream that is open."""
    async with replicas(tmp_path, demo_url, GATEWAY_SHUTDOWN_GRACE="0.2") as start:
        one, two = await asyncio.gather(start("one"), start("two"))
        session = await one.client.session()
        turn = (await one.client.begin(session, "/pieces 100\n/pace 20"))["turn_id"]
        following = follow(two.client, session, turn)
        await following.until("text", 5)
        one.process.send(how)
        await following.until("iteration_superseded", 1)
        if how == signal.SIGSTOP:
            one.process.send(signal.SIGCONT)
        seen = await following.whole()
        replay = await replayed(two.client, session, turn)
        if how == signal.SIGSTOP:
            assert await replayed(one.client, session, turn) == replay

    checked(seen, replay)
    assert the(seen, "done")["status"] == "completed"
    assert the(seen, "iteration_superseded")["reason"] == "server_restart"
    again = seen[[event["type"] for event in seen].index("iteration_superseded") :]
    assert len(text_of(again)) == 400


async def test_what_stood_still_starts_no_tool_and_stores_nothing(tmp_path: Path, demo_url: str) -> None:
    """It goes on in the middle of a call that another replica has repeated since: its result is refused, and
    the call that the model asks for next is made once, over there."""
    message = "/call think {}\n/then\n/call act {}\n/then\n/say done"
    async with replicas(tmp_path, demo_url) as start:
        one = await start("one", **{SECONDS: "0.5"})
        two = await start("two", **{SECONDS: "0.5"})
        session = await one.client.session()
        turn = (await one.client.begin(session, message))["turn_id"]
        following = follow(two.client, session, turn)
        await following.until("tool_call", 1)
        await told(tmp_path, 1)
        one.process.send(signal.SIGSTOP)
        await told(tmp_path, 2)
        one.process.send(signal.SIGCONT)
        seen = await following.whole()
        async with asyncio.timeout(TIMEOUT):
            while "turn_lost" not in one.process.output.read_text():
                await asyncio.sleep(0.05)
        replay = await replayed(one.client, session, turn)

    checked(seen, replay)
    ran = (tmp_path / "told").read_text().split()
    assert ran[::2] == ["think", "think", "act"]
    assert int(ran[1]) == one.process.pid
    assert {int(pid) for pid in ran[3::2]} == {two.process.pid}
    assert the(seen, "done")["status"] == "completed"


async def told(folder: Path, count: int) -> None:
    """Returns when so many runs of tools have begun."""
    file = folder / "told"
    async with asyncio.timeout(TIMEOUT):
        while not file.exists() or len(file.read_text().splitlines()) < count:
            await asyncio.sleep(0.01)


async def test_who_leaves_hands_its_turns_over_at_their_next_step(tmp_path: Path, demo_url: str) -> None:
    """The call that runs comes to its end there, and is not repeated; the next one is made elsewhere, long
    before the grace is over, and no loss is counted."""
    message = "/call act {}\n/call think {}\n/then\n/call act {}\n/then\n/say done"
    async with replicas(tmp_path, demo_url, GATEWAY_RECOVER_ATTEMPTS="0") as start:
        one, two = await start("one"), await start("two")
        await alive(one, 2)
        session = await one.client.session()
        turn = (await one.client.begin(session, message))["turn_id"]
        following = follow(two.client, session, turn)
        await told(tmp_path, 2)
        one.process.send(signal.SIGTERM)
        seen = await following.whole()
        replay = await replayed(two.client, session, turn)
        assert one.process.ended() == 0

    checked(seen, replay)
    ran = (tmp_path / "told").read_text().split()
    assert sorted(ran[0:4:2]) == ["act", "think"]
    assert {int(pid) for pid in ran[1:4:2]} == {one.process.pid}
    assert ran[4:] == ["act", str(two.process.pid)]
    assert "iteration_superseded" not in types(seen)
    assert the(seen, "done")["status"] == "completed"


async def test_a_queued_turn_runs_whoever_took_it_in(tmp_path: Path, demo_url: str) -> None:
    """Behind one of another replica; and when that one is killed, behind the one that took its turn over."""
    async with replicas(tmp_path, demo_url) as start:
        one, two = await start("one"), await start("two")
        session = await one.client.session()
        await one.client.begin(session, "/pieces 20\n/pace 20")
        turn = (await two.client.begin(session, "/say second", on_conflict="queue"))["turn_id"]
        second = await follow(two.client, session, turn).whole()
        await one.client.begin(session, "/pieces 100\n/pace 20")
        turn = (await one.client.begin(session, "/say third", on_conflict="queue"))["turn_id"]
        one.process.send(signal.SIGKILL)
        third = await follow(two.client, session, turn).whole()

    assert (text_of(second), text_of(third)) == ("second", "third")


async def test_a_decision_goes_on_where_it_was_heard(tmp_path: Path, demo_url: str) -> None:
    """The turn was parked on one replica, which is gone since."""
    async with replicas(tmp_path, demo_url, GATEWAY_TOOL_POLICY="act=ask") as start:
        one, two = await start("one"), await start("two")
        session = await one.client.session()
        turn = (await one.client.begin(session, "/call act {}\n/then\n/say done"))["turn_id"]
        path = f"/api/sessions/{session}/turns/{turn}"
        following = follow(two.client, session, turn)
        await following.until("approval_request", 1)
        async with asyncio.timeout(TIMEOUT):
            while (await two.client.get(path)).json()["status"] != "awaiting_approval":
                await asyncio.sleep(0.02)
        one.process.send(signal.SIGKILL)
        call = next(event["tool_call_id"] for event in following.seen if event["type"] == "tool_call")
        decided = await two.client.post(f"{path}/approvals/{call}", {"decision": "approve"})
        assert decided.status_code == 200, decided.text
        seen = await following.whole()

    assert (tmp_path / "told").read_text().split() == ["act", str(two.process.pid)]
    assert the(seen, "done")["status"] == "completed"


def ten_minutes_ahead() -> None:
    """The clock of this process."""
    real = time.time_ns
    time.time_ns = lambda: real() + 600 * 10**9


async def test_clocks_that_are_apart_take_nothing_from_anybody(tmp_path: Path, demo_url: str) -> None:
    """Ten minutes: who lives keeps its turns, who dies loses them, as the server's clock has it."""
    async with replicas(tmp_path, demo_url) as start:
        one, two = await start("one"), await start("two", begin=ten_minutes_ahead)
        session = await one.client.session()
        turn = (await one.client.begin(session, "/pieces 150\n/pace 20"))["turn_id"]
        following = follow(two.client, session, turn)
        seen = await following.whole()
        assert "iteration_superseded" not in types(seen)

        turn = (await one.client.begin(session, "/pieces 50\n/pace 20"))["turn_id"]
        following = follow(two.client, session, turn)
        await following.until("text", 5)
        one.process.send(signal.SIGKILL)
        assert the(await following.whole(), "done")["status"] == "completed"


def of_a_newer_version() -> None:
    """This process."""
    replica_heartbeat.__version__ = "9.9.9"


async def test_replicas_tell_in_what_they_differ(tmp_path: Path, demo_url: str) -> None:
    """Two versions work side by side, as during an upgrade; another lease, prompts and skills show too."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "identity.md").write_text("You are somebody else.")
    skills = tmp_path / "skills"
    write_skill(skills, "roses")
    async with replicas(tmp_path, demo_url) as start:
        one, two = await start("one"), await start("two")
        await alive(one, 2)
        folders = {"GATEWAY_PROMPTS_DIR": str(prompts), "GATEWAY_SKILLS_DIR": str(skills)}
        three = await start("three", begin=of_a_newer_version, **folders, GATEWAY_LEASE="9")
        for each in (one, three):
            await alive(each, 3, "lease", "prompts", "skills", "version")
        session = await one.client.session()
        turn = (await three.client.begin(session, "/pieces 100\n/pace 20"))["turn_id"]
        following = follow(one.client, session, turn)
        await following.until("text", 5)
        three.process.send(signal.SIGKILL)
        seen = await following.whole()
        await alive(two, 2)

    assert the(seen, "done")["status"] == "completed"


async def test_replicas_tell_in_which_settings_they_differ(tmp_path: Path, demo_url: str) -> None:
    """Whatever is not of one process alone: the model, limits of a turn, what tools may do, who may what, how
    long things are kept; of secrets too, without a word of them in what is stored. It is logged once."""
    database, key = new_database(), "Eire-Puzzle-Anker-7391"
    common = {"GATEWAY_DATABASE_URL": database, "GATEWAY_API_KEYS": f"ada:{key}"}
    others = {
        "GATEWAY_MODEL": "claude-other",
        "GATEWAY_MAX_ITERATIONS": "3",
        "GATEWAY_TOOL_POLICY": "*=deny",
        "GATEWAY_LIMITS": "user:turns=20/minute",
        "GATEWAY_ADMINS": "ada",
        "GATEWAY_API_KEYS": f"ada:{key},bob:Tonne-Pfeil-Mantel-52",
        "GATEWAY_DELETE_AFTER": "86400",
        "GATEWAY_MEMORY_LIMIT": "5",
    }
    async with replicas(tmp_path, demo_url, **common) as start:
        one = await start("one", GATEWAY_LOG_LEVEL="warning", GATEWAY_LOG_FORMAT="json")
        two = await start("two", **others, GATEWAY_MAX_CONNECTIONS="500")
        await alive(one, 2, *sorted(others))
        await alive(two, 2, *sorted(others))
        told = (await one.client.get("/metrics", authorization=f"Bearer {key}")).text
        assert re.search(rf"^gateway_replicas_differ\S* {len(others)}(\.0)?$", told, re.MULTILINE)
        with psycopg.connect(database) as connection:
            stored = str(connection.execute("SELECT about FROM replicas").fetchall())
        two.process.stop()
        await alive(one, 1)
        said = one.process.output.read_text()
    assert key not in stored
    assert "Tonne-Pfeil" not in stored
    assert "claude-other" not in stored
    assert said.count('"replicas_differ"') == 1


async def test_a_replica_that_was_killed_is_not_alive(tmp_path: Path, demo_url: str) -> None:
    """Nor one of several workers, while another has taken its place: before its lease is over."""
    database, lease = new_database(), 30
    async with replicas(tmp_path, demo_url, GATEWAY_LEASE=str(lease), GATEWAY_DATABASE_URL=database) as start:
        one, two = await start("one"), await start("two")
        await alive(one, 2)
        two.process.send(signal.SIGKILL)
        await alive(one, 1)
        with psycopg.connect(database) as connection:
            unseen = (
                "SELECT count(*) FROM replicas WHERE clock_timestamp() - seen_at < make_interval(secs => %s)"
            )
            assert connection.execute(unseen, (lease,)).fetchone() == (2,)


async def alive(replica: Replica, count: int, *differ: str) -> None:
    """Returns as soon as that replica knows of so many, which differ in that."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            told = (await replica.client.get("/readyz")).json().get("replicas")  # not when it is not ready
            if told == {"alive": count, "differ": [*differ]}:
                return
            await asyncio.sleep(0.05)


async def test_workers_behind_one_port_are_replicas(tmp_path: Path, demo_url: str) -> None:
    """One is killed in the middle of an answer: another takes its turn over, it is started again, and who
    resumes on the same port gets the rest. All drain when their parent is told to end."""
    database = new_database()
    async with replicas(tmp_path, demo_url, GATEWAY_DATABASE_URL=database) as start:
        port = await start("workers", "--workers", "2")
        await alive(port, 2)
        session = await port.client.session()
        turn = (await port.client.begin(session, "/pieces 100\n/pace 20"))["turn_id"]
        async with client_at(port.process.url) as other:
            following = follow(other, session, turn)
            await following.until("text", 5)
            os.kill(await worker_of(database, session), signal.SIGKILL)
            following.task.cancel()
        path = f"/api/sessions/{session}/events?turn_id={turn}"
        async with client_at(port.process.url) as again:
            rest = events(
                await again.all_frames(path, headers={"last-event-id": str(following.seen[-1]["seq"])})
            )
            await alive(Replica(port.process, again), 2)
        assert port.process.stop() == 0

    seen = following.seen + rest
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert the(seen, "done")["status"] == "completed"


async def test_each_worker_is_scraped_on_a_port_of_its_own(tmp_path: Path, demo_url: str) -> None:
    """Each answers there alone, with what it has counted itself; the common port is anybody's."""
    async with replicas(tmp_path, demo_url, GATEWAY_DATABASE_URL=new_database()) as start:
        port = await start("workers", "--workers", "2", "--worker-port", "0")
        await alive(port, 2)
        addresses = METRICS.findall(port.process.output.read_text())
        assert len(addresses) == 2
        assert port.process.url not in addresses
        for turns, address in enumerate(addresses, 1):
            async with client_at(address) as own:
                for _ in range(turns):
                    await own.chat("Hello")
        for turns, address in enumerate(addresses, 1):
            for _ in range(3):
                async with client_at(address) as scraping:
                    shown = (await scraping.get("/metrics")).text
                assert sum(map(float, TURNS.findall(shown))) == turns
        assert port.process.stop() == 0


async def worker_of(database: str, session: str) -> int:
    """The process that runs the turn of a session: it is in the replica's id."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        asked = await connection.execute("SELECT replica FROM heads WHERE session_id = %s", (session,))
        row = await asked.fetchone()
    assert row is not None
    return int(row[0].rpartition("_")[0].rpartition("-")[2])
