"""A PostgreSQL server dies, and a standby that had not heard of the newest commits takes its place."""

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gateway.storage.postgres.migrating import migrate
from tests.harness import TIMEOUT, the
from tests.postgres import CONFIGURATION, USER, program, start
from tests.product import ServerAddress
from tests.stories.test_replicas import alive, follow, needs_postgres, replayed, replicas

pytestmark = [*needs_postgres, pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

REPLICATED = CONFIGURATION | {"wal_level": "replica", "max_wal_senders": "4"}


class Pair:
    """A server and its standby."""

    def __init__(self, folder: Path) -> None:
        (folder / "first").mkdir(parents=True)
        (folder / "second").mkdir()
        self.first, first = start(folder / "first", configuration=REPLICATED)
        copy: list[str | Path] = [
            program("pg_basebackup"),
            "-d",
            first,
            "-D",
            folder / "second" / "data",
            "-R",
        ]
        options: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(folder / "second", *self._owner(folder / "first"))
            options = {"user": USER, "group": USER, "extra_groups": []}
        subprocess.run([*copy, "-c", "fast"], check=True, cwd=folder / "second", **options)
        self.second, self.standby = start(folder / "second", configuration=REPLICATED)
        both = f"{first.rpartition('@')[2].partition('/')[0]},{self.standby.rpartition('@')[2]}"
        self.url = f"postgresql://gateway@{both}?target_session_attrs=read-write"
        migrate(ServerAddress(self.url))

    def cut(self) -> None:
        """The standby hears of nothing any more."""
        with psycopg.connect(self.standby, autocommit=True) as raw:
            raw.execute("ALTER SYSTEM SET primary_conninfo = ''")
            raw.execute("SELECT pg_reload_conf()")
            while raw.execute("SELECT count(*) FROM pg_stat_wal_receiver").fetchone() != (0,):
                pass

    def fail_over(self) -> None:
        """The first dies, the second takes its place."""
        self.first.send_signal(signal.SIGQUIT)
        self.first.wait(TIMEOUT)
        with psycopg.connect(self.standby, autocommit=True) as raw:
            raw.execute("SELECT pg_promote()")

    def stop(self) -> None:
        for process in (self.first, self.second):
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGQUIT)
            process.wait(TIMEOUT)

    def _owner(self, folder: Path) -> tuple[int, int]:
        found = folder.stat()
        return found.st_uid, found.st_gid


@pytest.fixture
def pair() -> Generator[Pair]:
    # Not in the folder of the test run, which another user, such as the one of the server, may not enter.
    with tempfile.TemporaryDirectory(prefix="postgres-pair-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        pair = Pair(folder)
        yield pair
        pair.stop()


async def test_a_failover_that_lost_commits_leaves_a_gap_and_uses_no_number_twice(
    tmp_path: Path, demo_url: str, pair: Pair
) -> None:
    """The turn goes on in the streams that are open, behind what was shown, and says what is gone."""
    async with replicas(tmp_path, demo_url, GATEWAY_DATABASE_URL=pair.url) as start_replica:
        one, two = await start_replica("one"), await start_replica("two")
        await alive(one, 2)
        session = await one.client.session()
        turn = (await one.client.begin(session, "/pieces 200\n/pace 20"))["turn_id"]
        following = follow(two.client, session, turn)
        await following.until("text", 5)
        await asyncio.to_thread(pair.cut)
        await following.until("text", 25)
        await asyncio.to_thread(pair.fail_over)
        seen = await following.whole()
        replay = await replayed(two.client, session, turn)
        said = one.process.output.read_text()

    numbers = [event["seq"] for event in seen]
    assert numbers == sorted(set(numbers))
    kept = {event["seq"]: event for event in replay}
    known = {event["seq"]: event for event in seen}
    assert all(known.get(seq, event) == event for seq, event in kept.items())
    lost = [seq for seq in known if seq not in kept]
    assert lost
    assert lost == list(range(lost[0], lost[-1] + 1))
    warning = next(event for event in replay if event["data"].get("code") == "events_lost")
    assert warning["seq"] > lost[-1]
    assert the(replay, "done")["status"] in {"completed", "failed"}
    assert "database_failed_over" in said
