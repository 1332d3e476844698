"""What those who look after a gateway see and set while it runs."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.team import GUARDED, ROOT
from tests.harness import Client, running_gateway
from tests.postgres import database_in, on_both_engines, on_postgres
from tests.product import Settings

pytestmark = pytest.mark.anyio

LIMITS = "/api/limits"


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        yield client


async def set_limits(client: Client, *rules: str, **who: str) -> httpx2.Response:
    return await client.http.put(LIMITS, json={"rules": list(rules)}, headers=who or ROOT)


async def asked(client: Client, who: dict[str, str]) -> tuple[int, str]:
    answer = await client.post("/api/chat", {"message": "/say hi"}, **who)
    return answer.status_code, "" if answer.status_code == 200 else answer.json()["error"]["code"]


async def user(client: Client, name: str, **body: Any) -> dict[str, str]:
    made = await client.post("/api/keys", {"name": "k", "user": name, **body}, **ROOT)
    return {"x-api-key": made.json()["key"]}


@on_both_engines
async def test_a_limit_holds_as_soon_as_it_is_set(settings: Settings, anyio_backend: str) -> None:
    """For the user whom it names, until it is taken away; also where nothing was limited at the start."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        ada, bob = await user(client, "ada"), await user(client, "bob")
        assert await asked(client, ada) == (200, "")
        told = await set_limits(client, "user=ada:turns=0/day", "user:tokens=1/day")
        assert told.status_code == 200, told.text
        assert [each["rule"] for each in told.json()["added"]] == [
            "user=ada:turns=0/day",
            "user:tokens=1/day",
        ]
        assert (await asked(client, ada))[0] == (await asked(client, bob))[0] == 429
        usage = (await client.get("/api/usage", **ada)).json()
        assert {each["policy"] for each in usage["limits"]} == {"user=ada:turns/day", "user:tokens/day"}
        assert (await set_limits(client)).json()["added"] == []
        assert await asked(client, ada) == await asked(client, bob) == (200, "")
        audit = (await client.get("/api/audit?action=limit.change", **ROOT)).json()["entries"]
        assert [each["actor"] for each in audit] == ["root", "root"]


async def test_a_limit_that_is_set_goes_before_one_of_the_settings(
    settings: Settings, anyio_backend: str
) -> None:
    """It gives a user more as well as less, and is kept over a restart."""
    limited = settings.model_copy(update={**GUARDED, "limits": ("user:turns=0/day",)})
    async with running_gateway(limited) as client:
        ada = await user(client, "ada")
        assert (await asked(client, ada))[0] == 429
        told = (await set_limits(client, "user=ada:turns=5/day")).json()
        assert told["of_settings"] == ["user:turns=0/day"]
        assert await asked(client, ada) == (200, "")
    async with running_gateway(limited) as client:
        assert await asked(client, ada) == (200, "")


@pytest.mark.parametrize(
    "rules",
    [
        ["nonsense"],
        ["user:turns=20"],
        ["user:turns=many/day"],
        ["user:requests=20/minute"],
        ["all:cost=1/month", "all:cost=1/month"],
        ["x" * 501],
        ["all:turns=1/day"] * 201,
        "all:turns=1/day",
        [1],
    ],
)
async def test_what_is_no_limit_is_refused_and_changes_nothing(guarded: Client, rules: Any) -> None:
    assert (await set_limits(guarded, "all:turns=9/day")).status_code == 200
    refused = await guarded.http.put(LIMITS, json={"rules": rules}, headers=ROOT)

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")
    assert [each["rule"] for each in (await guarded.get(LIMITS, **ROOT)).json()["added"]] == [
        "all:turns=9/day"
    ]


async def test_the_operator_sees_how_the_gateway_is_doing(guarded: Client) -> None:
    """Its version, its room, what /readyz finds; neither a member nor an admin of another tenant does."""
    told = (await guarded.get("/api/server", **ROOT)).json()

    assert (told["health"]["status"], told["engine"]) == ("ok", "sqlite")
    assert 0 < told["disk"]["free"] <= told["disk"]["total"]
    assert told["sizes"]["database"] > 0
    member = await user(guarded, "ada")
    red = await user(guarded, "boss", tenant="red", role="admin")
    for path in ("/api/server", LIMITS):
        for who in (member, red):
            assert (await guarded.get(path, **who)).status_code == 403
    assert (await set_limits(guarded, **red)).status_code == 403


@on_postgres
async def test_limits_hold_on_every_replica(settings: Settings, tmp_path: Path) -> None:
    shared = settings.model_copy(
        update={**GUARDED, "database_url": database_in(tmp_path), "blob_url": (tmp_path / "blobs").as_uri()}
    )
    async with (
        running_gateway(shared) as one,
        running_gateway(shared.model_copy(update={"data_dir": tmp_path / "other"})) as other,
    ):
        ada = await user(one, "ada")
        assert (await set_limits(one, "user=ada:turns=0/day")).status_code == 200
        for _ in range(200):
            if (await asked(other, ada))[0] == 429:
                return
        raise AssertionError("the other replica was not told")
