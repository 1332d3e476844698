"""What a month of usage says over the API, and to whom."""

import csv
import io
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.service.usage import Month
from tests.api.team import GUARDED, ROOT, Headers
from tests.harness import Client, running_gateway
from tests.postgres import on_both_engines
from tests.product import Settings, now_ms

pytestmark = pytest.mark.anyio

THIS_MONTH = f"{datetime.now(UTC):%Y-%m}"


@pytest.fixture
async def guarded(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        yield client


async def key(client: Client, user: str, *, tenant: str = "default", **body: Any) -> Headers:
    made = await client.post("/api/keys", {"name": "k", "user": user, "tenant": tenant, **body}, **ROOT)
    assert made.status_code == 201, made.text
    return {"x-api-key": made.json()["key"]}


async def chat(client: Client, who: Headers, message: str, session_id: str | None = None) -> str:
    body = {"message": message} | ({"session_id": session_id} if session_id else {})
    frames = await client.all_frames("/api/chat", body, who)
    return frames[-1].data["session_id"]


async def month(client: Client, who: Headers, path: str = "/api/usage/month", **query: str) -> dict[str, Any]:
    given = "&".join(f"{name}={value}" for name, value in query.items())
    found = await client.get(f"{path}?{given}", **who)
    assert found.status_code == 200, found.text
    return found.json()


@on_both_engines
async def test_a_month_is_told_by_day_model_and_chat(settings: Settings, anyio_backend: str) -> None:
    """The sums agree with each other, and a chat that is deleted takes nothing of them away."""
    async with running_gateway(settings.model_copy(update=GUARDED)) as client:
        ada = await key(client, "ada")
        first, second = await chat(client, ada, "/say one"), await chat(client, ada, "/say two")
        before = await month(client, ada)

        assert (before["month"], before["since"], before["user_id"]) == (THIS_MONTH, THIS_MONTH, "ada")
        assert before["total"]["turns"] == sum(each["turns"] for each in before["days"]) == 2
        assert before["total"]["input_tokens"] == sum(each["input_tokens"] for each in before["models"]) > 0
        assert before["total"]["cost"] > 0
        assert before["total"]["cost"] == pytest.approx(sum(each["cost"] for each in before["days"]))
        assert {each["session_id"] for each in before["sessions"]} == {first, second}
        assert {each["title"] for each in before["sessions"]} == {"/say one", "/say two"}
        assert (await client.http.delete(f"/api/sessions/{first}", headers=ada)).status_code == 204

        after = await month(client, ada)

        assert after["total"] == {**before["total"], "cost": pytest.approx(before["total"]["cost"], abs=2e-6)}
        assert after["deleted"]["turns"] == 1
        assert [each["session_id"] for each in after["sessions"]] == [second]
        assert (await month(client, ada, month="2020-01"))["total"]["turns"] == 0


async def test_days_are_those_of_the_person(guarded: Client) -> None:
    """The same moment is another day elsewhere; what is no zone and no month is said to be none."""
    ada = await key(guarded, "ada")
    await chat(guarded, ada, "/say hi")

    [east] = (await month(guarded, ada, timezone="Pacific/Kiritimati"))["days"]
    [west] = (await month(guarded, ada, timezone="Etc/GMT%2B12"))["days"]

    assert east["day"] > west["day"]
    for query in ("timezone=Mars/Olympus", "timezone=../../etc/passwd", "month=2026-13", "month=1", "x=1"):
        refused = await guarded.get(f"/api/usage/month?{query}", **ada)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request"), query


def test_a_month_begins_and_ends_by_its_own_clocks() -> None:
    """Also in zones whose clocks change in it, and where the year ends."""
    berlin, kathmandu = Month(2026, 10, "Europe/Berlin"), Month(2026, 12, "Asia/Kathmandu")

    first, last = berlin.bounds
    assert last - first == (31 * 24 + 1) * 3_600_000 - 1
    assert (berlin.day_of(first), berlin.day_of(last)) == berlin.days
    assert (kathmandu.day_of(kathmandu.bounds[0]), kathmandu.day_of(kathmandu.bounds[1])) == kathmandu.days
    assert kathmandu.bounds[0] % 900_000 == 0
    assert Month.named(None, "UTC", now_ms()).name == THIS_MONTH


async def test_a_cost_that_nobody_knows_is_not_nothing(settings: Settings, anyio_backend: str) -> None:
    """It is absent, and in the table for spreadsheets an empty cell; a model is no formula there."""
    unknown = settings.model_copy(update={**GUARDED, "model": "=1+1", "models": ()})
    async with running_gateway(unknown) as client:
        ada = await key(client, "ada")
        await chat(client, ada, "/say hi")

        total = (await month(client, ada))["total"]
        told = await client.get("/api/usage/month?format=csv", **ada)

    assert (total.get("cost"), total["unpriced"], total["turns"]) == (None, 1, 1)
    assert told.headers["content-type"].startswith("text/csv")
    assert f'filename="usage-ada-{THIS_MONTH}.csv"' in told.headers["content-disposition"]
    head, row = csv.reader(io.StringIO(told.text))
    named = dict(zip(head, row, strict=True))
    assert (named["model"], named["turns"], named["cost_usd"], named["unpriced"]) == ("'=1+1", "1", "", "1")
    assert int(named["input_tokens"]) > 0


async def test_admins_see_the_users_they_are_admins_of(guarded: Client) -> None:
    """Who was here, with what roles, and what each used: the operator of all tenants, another admin of
    theirs; nobody else."""
    ada, bob = await key(guarded, "ada", tenant="red"), await key(guarded, "bob", tenant="blue")
    boss = await key(guarded, "boss", tenant="red", role="admin")
    await chat(guarded, ada, "/say hi")

    everybody = (await guarded.get("/api/users", **ROOT)).json()["users"]
    reds = (await guarded.get("/api/users", **boss)).json()["users"]

    assert [each["user_id"] for each in everybody] == ["blue/bob", "red/ada", "red/boss", "root"]
    assert [(each["user"], each["roles"]) for each in reds] == [("ada", ["member"]), ("boss", ["admin"])]
    assert (reds[0]["used"]["turns"], reds[1]["used"]["turns"]) == (1, 0)
    assert abs(reds[0]["seen_at"] - now_ms()) < 60_000
    assert everybody[-1]["roles"] == ["admin", "member"]
    of_ada = await month(guarded, boss, "/api/users/ada/usage")
    assert (of_ada["user_id"], of_ada["total"]["turns"]) == ("red/ada", 1)
    assert (await guarded.get("/api/users", **ada)).status_code == 403
    assert (await guarded.get("/api/users/ada/usage", **bob)).status_code == 403
    assert (await guarded.get("/api/users/bob/usage?tenant=blue", **boss)).status_code == 403


async def test_users_come_page_by_page(guarded: Client) -> None:
    for user in ("ann", "bob", "carl"):
        await key(guarded, user)
    seen: list[str] = []
    after = ""
    while True:
        page = (await guarded.get(f"/api/users?limit=2&after={after}", **ROOT)).json()
        seen += [each["user_id"] for each in page["users"]]
        if "next" not in page:
            break
        after = page["next"]

    assert seen == ["ann", "bob", "carl", "root"]
