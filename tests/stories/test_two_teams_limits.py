"""The two teams run into each kind of limit, one of them is exported and erased; the audit tells it."""

import asyncio
import io
import zipfile
from collections.abc import Generator
from typing import Any

import httpx2
import orjson
import pytest

from tests.harness import TIMEOUT, Client, running_gateway, the, types
from tests.identity_provider import provider_process
from tests.postgres import on_both_engines
from tests.product import Settings
from tests.stories.teams import PEOPLE, Person, audit_of, browsers, given, sign_in

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

LIMITS = (
    "key:requests=3/day",
    "user=red/ada:turns=2/day",
    "user=red/ben:concurrent=1",
    "user=blue/cleo:tokens=15000/day",
    "user=blue/dan:cost=0.105/month",
)
"""One of each kind, each somebody else's. Of tokens there is room for one call of the model, and of cost for
two short turns."""
QUOTA = 10_000
CALLS = "\n/then\n".join(['/call calculate {"expression": "1+1"}'] * 6)
PLANTED = "quetzalcoatlus"
"""In what Dan says and keeps, and in nothing else."""


@pytest.fixture(scope="module")
def provider() -> Generator[str]:
    with provider_process(**PEOPLE) as url:
        yield url


def refused(answer: httpx2.Response, code: str, policy: str) -> None:
    """The answer says which limit it was, when there is room again, and what is left of it."""
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (429, code), answer.text
    assert error["details"]["policy"] == policy
    assert 0 < int(answer.headers["retry-after"]) <= 31 * 86_400
    assert f'"{policy}";r=' in answer.headers["ratelimit"]
    assert f'"{policy}";q=' in answer.headers["ratelimit-policy"]


async def say(person: Person, message: str = "/say fine", **more: Any) -> httpx2.Response:
    return await person.post("/api/chat", {"message": message, **more})


async def erasure_of(admin: Person, path: str) -> dict[str, Any]:
    """Its report, when it is done."""
    async with asyncio.timeout(TIMEOUT):
        while (report := (await admin.get(path)).json())["state"] != "done":
            await asyncio.sleep(0.1)
    return report


@on_both_engines
async def test_two_teams_run_into_each_kind_of_limit_and_one_of_them_is_erased(
    settings: Settings, provider: str
) -> None:
    """Turns, turns at the same time, tokens, cost, requests and storage: each refuses whom it is for, says
    so in its code and headers, and leaves the others alone. The operator exports and erases one person; the
    audit has each refusal, the export and the erasure, and of the person a pseudonym."""
    limited = given(settings, provider).model_copy(update={"limits": LIMITS, "artifact_quota": QUOTA})
    async with running_gateway(limited) as client, browsers(client) as people:
        ada, ben, cleo, dan, olga = (people[name] for name in PEOPLE if name != "guest")
        for person in (ada, ben, cleo, dan, olga):
            assert (await sign_in(person)).status_code == 303

        await _turns(ada)
        await _turns_at_the_same_time(ben)
        await _tokens(cleo)
        await _cost(dan)
        assert (await say(olga)).status_code == 200
        await _requests(client, olga)
        kept = await _storage(dan)

        theirs = "/api/users/dan/{}?tenant=blue"
        assert (await cleo.get(theirs.format("export"))).status_code == 403
        archive = zipfile.ZipFile(io.BytesIO((await olga.get(theirs.format("export"))).content))
        manifest = orjson.loads(archive.read("manifest.json"))
        assert (manifest["user_id"], manifest["left_out"]) == ("blue/dan", [])
        assert PLANTED.encode() in archive.read("sessions.jsonl")
        assert PLANTED.encode() in archive.read(f"artifacts/{kept}")
        assert b"artifacts_full" in archive.read("audit.jsonl")

        confirmed = await olga.post(theirs.format("erasure"), {"confirm": "dan"})
        assert confirmed.status_code == 202, confirmed.text
        report = await erasure_of(olga, theirs.format("erasure"))
        assert (report["found"]["sessions"], report["found"]["artifacts"]) == (2, 1)
        assert (await dan.get("/api/me")).status_code == 401
        assert (await cleo.get("/api/sessions")).json()["sessions"] != []
        assert (await sign_in(dan)).status_code == 303
        assert (await dan.get("/api/sessions")).json()["sessions"] == []
        assert (await dan.delete(f"/api/artifacts/{kept}")).status_code == 404

        red, blue, of_default = await audit_of(olga)

    erased = report["person"]
    assert erased.startswith("erased:")
    for entries, expected in (
        (red, ("red/ada", "turn.start", "refused:rate_limited")),
        (red, ("red/ben", "turn.start", "refused:rate_limited")),
        (red, ("red/desk", "access", "refused:rate_limited")),
        (blue, ("blue/cleo", "turn.start", "refused:budget_exhausted")),
        (blue, ("blue/cleo", "person.export", "refused:forbidden")),
        (blue, (erased, "turn.start", "refused:budget_exhausted")),
        (blue, (erased, "artifact.keep", "refused:artifacts_full")),
        (blue, ("gateway:erasure", "person.erased", "done")),
        (of_default, ("olga", "person.export", "done")),
        (of_default, ("olga", "person.erase", "done")),
    ):
        assert expected in {(actor, action, result) for actor, action, _, result in entries}, expected
    of_dan = [each for each in blue if each[0] == "blue/dan"]
    assert {each[1] for each in of_dan} <= {"sign_in.create", "artifact.delete"}, "only what came after it"
    assert PLANTED not in str([red, blue, of_default])


async def _turns(ada: Person) -> None:
    first, second, third = [await say(ada) for _ in range(3)]
    assert [each.status_code for each in (first, second)] == [200, 200]
    assert '"user=red/ada:turns/day";q=2;w=86400' in first.headers["ratelimit-policy"]
    assert all(
        f'"user=red/ada:turns/day";r={left}' in each.headers["ratelimit"]
        for each, left in ((first, 1), (second, 0))
    )
    refused(third, "rate_limited", "user=red/ada:turns/day")


async def _turns_at_the_same_time(ben: Person) -> None:
    session = (await ben.post("/api/sessions", {})).json()["id"]
    begun = (await ben.post(f"/api/sessions/{session}/turns", {"message": "/fault headers_stall"})).json()
    answer = await say(ben)
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
    assert int(answer.headers["retry-after"]) > 0
    assert '"user=red/ben:concurrent";r=0' in answer.headers["ratelimit"]
    await ben.post(f"/api/turns/{begun['turn_id']}/cancel")
    await ben.browser.all_frames(f"/api/sessions/{session}/events?turn_id={begun['turn_id']}")
    assert (await say(ben)).status_code == 200


async def _tokens(cleo: Person) -> None:
    """The second call is not made; and for another turn there is no room."""
    seen = await cleo.chat(CALLS)
    assert types(seen)[-2:] == ["warning", "done"]
    assert the(seen, "warning")["code"] == "budget_exceeded"
    assert (the(seen, "done")["status"], the(seen, "done")["iterations"]) == ("limit_reached", 1)
    refused(await say(cleo), "budget_exhausted", "user=blue/cleo:tokens/day")
    limits = {each["policy"]: each for each in (await cleo.get("/api/usage")).json()["limits"]}
    used = sum(the(seen, "done")["usage"].values())
    assert (limits["user=blue/cleo:tokens/day"]["used"], limits["user=blue/cleo:tokens/day"]["held"]) == (
        used,
        0,
    )


async def _cost(dan: Person) -> None:
    assert [(await say(dan, f"/say {PLANTED}")).status_code for _ in range(2)] == [200, 200]
    refused(await say(dan, f"/say {'fine ' * 4000}"), "budget_exhausted", "user=blue/dan:cost/month")


async def _requests(client: Client, olga: Person) -> None:
    """By key. The one too many is refused before it is known what it asks for, and so the audit calls it."""
    given = {"name": "desk", "user": "desk", "tenant": "red", "role": "member"}
    key = {"x-api-key": (await olga.post("/api/keys", given)).json()["key"]}
    answers = [await client.get("/api/me", **key) for _ in range(3)]
    assert [each.headers["ratelimit"].split(";t=")[0] for each in answers] == [
        f'"key:requests/day";r={left}' for left in (2, 1, 0)
    ]
    refused(await client.post("/api/chat", {"message": "/say no"}, **key), "rate_limited", "key:requests/day")


async def _storage(dan: Person) -> str:
    """What there is room for; what there is none for is another kind of refusal: waiting does not help."""
    kept = await dan.post("/api/artifacts", {"text": f"{PLANTED}\n" * 500})
    assert kept.status_code == 201, kept.text
    full = await dan.post("/api/artifacts", {"text": "more\n" * 1000})
    assert (full.status_code, full.json()["error"]["code"]) == (409, "artifacts_full")
    assert "retry-after" not in full.headers
    return kept.json()["ref"]
