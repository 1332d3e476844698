"""A pooler in front of the database: where it may be, where it may not, and what is said of that."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.storage.postgres.pooler_check import refuse_pooler
from tests.cutting import cutting
from tests.harness import client_at, running_gateway, the
from tests.loopback import TIMEOUT
from tests.pooler import needs_pooler, pooled
from tests.postgres import database_in, needs_postgres
from tests.product import ServerAddress, Settings, StorageError, load_settings
from tests.running import gateway_process, run
from tests.waiting import until

pytestmark = [*needs_postgres, pytest.mark.anyio]

ADVICE = "set GATEWAY_DATABASE_DIRECT_URL to the address of the server"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_in(tmp_path)


def environment(folder: Path, demo_url: str, url: str, direct: str = "") -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": demo_url,
        "GATEWAY_DATABASE_URL": url,
        "GATEWAY_DATABASE_DIRECT_URL": direct,
        "GATEWAY_BLOB_URL": f"file://{folder}/blobs",
        "GATEWAY_BLOBS_SHARED": "true",
    }


@needs_pooler
@pytest.mark.parametrize(
    ("given", "is_refused"),
    [
        ({"mode": "transaction"}, True),
        ({"mode": "transaction", "size": 1}, True),
        ({"mode": "transaction", "ignored": "extra_float_digits"}, True),
        ({"mode": "statement"}, True),
        ({"mode": "session"}, False),
        ({"mode": "session", "size": 1}, False),
    ],
)
def test_a_pooler_that_hands_connections_on_is_told_from_one_that_does_not(
    url: str, tmp_path: Path, given: dict[str, Any], is_refused: bool
) -> None:
    """Also where it has one connection for all, or refuses what a gateway tells the server at the start."""
    with pooled(url, tmp_path, **given) as pooler:
        server = ServerAddress(pooler)
        if not is_refused:
            refuse_pooler(server)
            return
        with pytest.raises(StorageError, match=ADVICE) as refused:
            refuse_pooler(server)
    assert refused.value.code == "database_pooled"


@needs_pooler
@pytest.mark.parametrize("has_direct", [False, True])
@pytest.mark.parametrize("command", ["serve", "migrate", "doctor"])
def test_a_start_through_a_pooler_is_refused_in_one_sentence(
    url: str, tmp_path: Path, demo_url: str, has_direct: bool, command: str
) -> None:
    """Without the server's own address, and with one that leads to the pooler too."""
    with pooled(url, tmp_path) as pooler:
        given = environment(tmp_path, demo_url, pooler, pooler if has_direct else "")
        refused = run(tmp_path, command, *(["--port", "0"] if command == "serve" else []), **given)
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0
    assert "Traceback" not in said
    (line,) = [line for line in said.splitlines() if "GATEWAY_DATABASE_DIRECT_URL" in line]
    assert ADVICE in line
    assert "GATEWAY_MEMORY" not in said


@needs_pooler
async def test_with_the_servers_own_address_a_pooler_is_no_hindrance(
    url: str, tmp_path: Path, demo_url: str
) -> None:
    """Turn after turn over connections that are other ones each time."""
    with pooled(url, tmp_path, size=3) as pooler:
        given = environment(tmp_path, demo_url, pooler, url)
        with gateway_process(tmp_path, "serve", **given) as running:
            async with client_at(running.url) as client:
                session = await client.session()
                for _ in range(12):
                    events = await client.chat("/pieces 5", session_id=session)
                    assert the(events, "done")["status"] == "completed"
                assert (await client.get("/readyz")).json()["replicas"]["alive"] == 1
            assert "prepared statement" not in running.output.read_text()


@needs_pooler
async def test_a_pooler_that_comes_later_is_told_by_readyz(
    settings: Settings, url: str, tmp_path: Path
) -> None:
    """With what is to be set, and for as long as it is there."""
    port = urlsplit(url).port or 0
    with pooled(url, tmp_path) as pooler, cutting("127.0.0.1", port) as way:
        through = urlsplit(url)._replace(netloc=f"{urlsplit(url).username}@127.0.0.1:{way.port}").geturl()
        shared = settings.model_copy(
            update={"database_url": through, "blob_url": (tmp_path / "blobs").as_uri(), "lease": 3600}
        )
        async with running_gateway(shared) as client:
            assert (await client.get("/readyz")).status_code == 200
            way.lead_to(urlsplit(pooler).port or 0)

            async def refused() -> bool:
                answer = await client.get("/readyz")
                why = answer.json().get("failed", {}).get("storage", {})
                return answer.status_code == 503 and why.get("code") == "database_pooled"

            await until(refused, TIMEOUT)
            told = (await client.get("/readyz")).json()["failed"]["storage"]["message"]
            way.lead_to(port)

            async def is_back() -> bool:
                return (await client.get("/readyz")).status_code == 200

            await until(is_back, TIMEOUT)
    assert ADVICE in told


@pytest.mark.parametrize(
    "scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2", "postgres+asyncpg"]
)
async def test_an_address_is_taken_in_each_form_that_people_have_it(
    url: str, tmp_path: Path, demo_url: str, scheme: str
) -> None:
    """Hosts of databases give postgres://, other programs name a driver: everywhere an address is read."""
    given = url.replace("postgresql://", f"{scheme}://")
    settings = load_settings(database_url=given, database_direct_url=given)
    assert settings.is_shared
    assert (settings.database_url, settings.database_direct_url) == (url, url)
    if scheme in {"postgres", "postgresql+psycopg"}:
        moved = run(tmp_path, "move", f"sqlite:///{tmp_path}/none.db", given)
        assert "postgresql://…" not in moved.stderr
        environment_given = environment(tmp_path, demo_url, given)
        with gateway_process(tmp_path, "serve", **environment_given) as running:
            async with client_at(running.url) as client:
                assert the(await client.chat("hello"), "done")["status"] == "completed"
