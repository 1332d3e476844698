"""One version takes the place of another while users talk: both work on one database."""

import asyncio
import signal
from functools import partial
from pathlib import Path

import psycopg
import pytest

from gateway.storage.migrations import SESSIONS, Chain
from gateway.storage.postgres import migrating
from gateway.turn import replica_heartbeat
from tests.harness import the
from tests.newer import newer
from tests.postgres import needs_postgres, new_database
from tests.product import ServerAddress
from tests.stories.test_replicas import alive, checked, follow, replayed, replicas

pytestmark = [*needs_postgres, pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]


def of_a_newer_version(chain: Chain) -> None:
    """This process."""
    migrating.SESSIONS, replica_heartbeat.__version__ = chain, "9.9.9"


async def test_both_versions_serve_while_one_takes_the_place_of_the_other(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The schema is brought to the newer one while a turn runs. A replica of the former version may be
    started on it, and each goes on with turns of the other. Of a schema that it cannot use, a former version
    says which it needs, and one that runs is not ready any more."""
    url = new_database()

    async def migrate(chain: Chain) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(migrating, "SESSIONS", chain)
            await asyncio.to_thread(migrating.migrate, ServerAddress(url))

    more = newer(tmp_path, SESSIONS)
    async with replicas(tmp_path, demo_url, GATEWAY_DATABASE_URL=url) as start:
        one = await start("one")
        session = await one.client.session()
        turn = (await one.client.begin(session, "/pieces 50\n/pace 20"))["turn_id"]
        await migrate(more)
        two = await start("two", begin=partial(of_a_newer_version, more))
        following = follow(two.client, session, turn)
        await following.until("text", 5)
        one.process.send(signal.SIGKILL)
        checked(await following.whole(), await replayed(two.client, session, turn))

        three = await start("three")
        await alive(three, 2, "version")
        assert (await three.client.get("/readyz")).json()["newer_schema"] == {"sessions": more.head}
        assert "has the schema of a newer version" in three.process.output.read_text()
        turn = (await two.client.begin(session, "/pieces 50\n/pace 20"))["turn_id"]
        following = follow(three.client, session, turn)
        await following.until("text", 5)
        two.process.send(signal.SIGKILL)
        assert the(await following.whole(), "done")["status"] == "completed"

        other = newer(tmp_path, more, is_compatible=False)
        await migrate(other)
        ready = await three.client.get("/readyz")
        with pytest.raises(AssertionError, match=f"with revision {other.head} or newer"):
            await start("four")

    assert (ready.status_code, ready.json()["failed"]["storage"]["code"]) == (503, "database_too_new")


async def test_a_schema_that_is_older_is_not_served(tmp_path: Path, demo_url: str) -> None:
    """Other replicas may need it as it is: it is migrated when somebody says so."""
    url = new_database()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0011'")
    async with replicas(tmp_path, demo_url, GATEWAY_DATABASE_URL=url) as start:
        with pytest.raises(AssertionError, match=r"older than this version .*: run `gateway migrate`"):
            await start("one")
