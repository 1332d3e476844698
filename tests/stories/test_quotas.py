"""People run into the limits of GATEWAY_LIMITS, each kind of them, and into each other."""

import asyncio
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from pydantic import SecretStr

from gateway.storage.limits import in_words
from tests.harness import TIMEOUT, Client, client_at, events, running_gateway, the, types
from tests.postgres import needs_postgres, new_database
from tests.product import Settings
from tests.running import gateway_process
from tests.stories.test_replicas import follow, replicas
from tests.stories.test_schedules import settled

pytestmark = [pytest.mark.anyio, pytest.mark.long]

ANNA, BOB, DESK = (f"{name}-secret-0123456789" for name in ("anna", "bob", "desk"))
AGAIN = "\n/then\n".join(['/call calculate {"expression": "1+1"}'] * 6)
ONE_CALL = 15_000
"""Tokens: more than one call of the demo model may take, with its prompt, and less than two."""


def limited(settings: Settings, *rules: str, **more: Any) -> Settings:
    keys = SecretStr(f"anna:{ANNA},bob:{BOB},desk:{DESK}")
    given = {"api_keys": keys, "delegate_keys": ("desk",), "limits": rules}
    return settings.model_copy(update=given | more)


def as_(key: str, user: str | None = None) -> dict[str, str]:
    return {"x-api-key": key} | ({"x-user-id": user} if user else {})


async def say(client: Client, who: dict[str, str], message: str = "/say fine", **options: Any) -> Any:
    """Sends a message and waits for the end of its turn; the refusal if there is one."""
    return await client.post("/api/chat", {"message": message, **options}, **who)


async def limits_of(client: Client, **who: str) -> dict[str, dict[str, Any]]:
    answer = await client.get("/api/usage", **who)
    assert answer.status_code == 200, answer.text
    return {limit["policy"]: limit for limit in answer.json()["limits"]}


@pytest.mark.parametrize(
    ("rule", "code", "who", "same", "other"),
    [
        ("user:turns=2/day", "rate_limited", as_(ANNA), as_(ANNA), as_(BOB)),
        ("user=anna:turns=2/day", "rate_limited", as_(ANNA), as_(ANNA), as_(BOB)),
        ("key:turns=2/day", "rate_limited", as_(DESK, "x"), as_(DESK, "y"), as_(ANNA)),
        ("tenant:turns=2/day", "rate_limited", as_(ANNA), as_(BOB), None),
        ("all:turns=2/day", "rate_limited", as_(ANNA), as_(BOB), None),
        ("model=claude-*:turns=2/day", "rate_limited", as_(ANNA), as_(BOB), None),
        ("user+model:turns=2/day", "rate_limited", as_(ANNA), as_(ANNA), as_(BOB)),
        ("user:tokens=18000/day", "budget_exhausted", as_(ANNA), as_(ANNA), as_(BOB)),
        ("tenant:tokens=18000/month", "budget_exhausted", as_(ANNA), as_(BOB), None),
        ("user:cost=0.105/month", "budget_exhausted", as_(ANNA), as_(ANNA), as_(BOB)),
    ],
)
async def test_a_limit_refuses_the_turn_before_it_starts(  # noqa: PLR0917 - a row of the table
    settings: Settings,
    rule: str,
    code: str,
    who: dict[str, str],
    same: dict[str, str],
    other: dict[str, str] | None,
) -> None:
    """Two turns find room, a third one of whoever shares the limit is refused, and told what is left and
    when it begins anew; somebody else's is not. Nothing is left of the refused one: no session, no turn."""
    async with running_gateway(limited(settings, rule)) as client:
        assert [(await say(client, each)).status_code for each in (who, same)] == [200, 200]
        refused = await say(client, same, f"/say {'fine ' * 4000}", session_id="never")
        others = other and (await say(client, other)).status_code
        sessions = await client.get("/api/sessions/never", **same)

    problem = refused.json()["error"]
    assert (refused.status_code, problem["code"], sessions.status_code) == (429, code, 404)
    assert 0 < int(refused.headers["retry-after"]) <= 31 * 86_400
    assert f'"{problem["details"]["policy"]}";r=' in refused.headers["ratelimit"]
    assert f'"{problem["details"]["policy"]}";q=' in refused.headers["ratelimit-policy"]
    assert others in {None, 200}


async def test_a_turn_stops_before_the_call_that_a_budget_has_no_room_for(settings: Settings) -> None:
    """In mid-turn there is no surprise bill: the second call is not made, the turn ends in order, and what
    was taken is within the limit."""
    async with running_gateway(limited(settings, f"user:tokens={ONE_CALL}/day")) as client:
        client.http.headers.update(as_(ANNA))
        seen = await client.chat(AGAIN, session_id="mine")
        standing = (await limits_of(client))["user:tokens/day"]

    assert types(seen)[-2:] == ["warning", "done"]
    assert the(seen, "warning")["code"] == "budget_exceeded"
    assert "user:tokens/day" in the(seen, "warning")["message"]
    assert (the(seen, "done")["status"], the(seen, "done")["iterations"]) == ("limit_reached", 1)
    used = sum(the(seen, "done")["usage"].values())
    assert (standing["used"], standing["held"]) == (used, 0)
    assert used <= ONE_CALL


async def test_an_attempt_that_broke_off_is_repeated_only_where_there_is_room_for_both(
    settings: Settings,
) -> None:
    """Nobody knows what it cost. Without a limit it is repeated, and the turn completes."""
    found: list[tuple[str, int, int]] = []
    for rule in (f"user:tokens={ONE_CALL}/day", f"user:tokens={ONE_CALL * 2}/day"):
        folder = settings.data_dir / rule.partition("=")[2].partition("/")[0]
        async with running_gateway(limited(settings, rule, data_dir=folder)) as client:
            client.http.headers.update(as_(ANNA))
            seen = await client.chat(f"/fault reset_mid_stream once\n/say {rule * 9}", session_id="mine")
            limit = (await limits_of(client))["user:tokens/day"]
        attempts = types(seen).count("iteration_start")
        assert limit["used"] <= limit["limit"]
        found.append((the(seen, "done")["status"], attempts, limit["held"]))

    assert found == [("failed", 1, 0), ("completed", 2, 0)]


async def test_turns_of_schedules_count_for_the_key_that_made_them(settings: Settings) -> None:
    """Made over HTTP or by the model in a turn: a limit of the key is not passed round."""
    async with running_gateway(
        limited(settings, "key=anna:turns=9/day", tool_policy=("manage_schedule=allow",))
    ) as client:
        client.http.headers.update(as_(ANNA))
        own = await client.post("/api/schedules", {"message": "/say fine", "cron": "0 8 1 1 *"})
        call = '/call manage_schedule {"action": "create", "message": "/say fine", "cron": "0 8 1 1 *"}'
        await client.chat(call)
        made = [each["id"] for each in (await client.get("/api/schedules")).json()["schedules"]]
        statuses: list[str] = []
        for schedule in (own.json()["id"], next(each for each in made if each != own.json()["id"])):
            await client.post(f"/api/schedules/{schedule}/run")
            statuses.append((await settled(client, schedule))[0]["status"])
        standing = (await limits_of(client))["key=anna:turns/day"]

    assert statuses == ["completed", "completed"]
    assert standing["used"] == 3


async def test_a_limit_is_named_as_its_rule_is_and_the_wait_in_words(settings: Settings) -> None:
    rules = "user=anna:turns=1/month", "user:turns=5/month"
    async with running_gateway(limited(settings, *rules)) as client:
        await say(client, as_(ANNA))
        refused = await say(client, as_(ANNA))
        others = await limits_of(client, **as_(BOB))

    error, wait = refused.json()["error"], int(refused.headers["retry-after"])
    assert error["details"]["policy"] == "user=anna:turns/month"
    assert f"Try again in {in_words(wait)}." in error["message"]
    assert set(others) == {"user:turns/month"}


async def test_turns_at_the_same_time_are_limited_wherever_they_run(settings: Settings) -> None:
    async with running_gateway(limited(settings, "user:concurrent=1")) as client:
        client.http.headers.update(as_(ANNA))
        first = await client.begin(await client.session(), "/fault headers_stall")
        refused = await say(client, {})
        await client.post(f"/api/turns/{first['turn_id']}/cancel")
        await client.all_frames(f"/api/sessions/{first['session_id']}/events?turn_id={first['turn_id']}")
        again = await say(client, {})

    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert again.status_code == 200


async def test_requests_are_refused_before_their_body_is_read(settings: Settings) -> None:
    """Each answer tells how many are left; the one too many is answered while its body is still to come."""
    async with running_gateway(limited(settings, "key:requests=2/day")) as client:
        client.http.headers.update(as_(ANNA))
        answers = [await client.get("/api/sessions") for _ in range(2)]
        at = urlsplit(client.url)
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        writer.write(
            f"POST /api/chat HTTP/1.1\r\nHost: x\r\nx-api-key: {ANNA}\r\nContent-Type: application/json\r\n"
            "Content-Length: 1000000\r\n\r\n{".encode()
        )
        async with asyncio.timeout(TIMEOUT):
            status = await reader.readline()
        writer.close()
        other = await client.get("/api/sessions", **as_(BOB))

    assert [answer.headers["ratelimit"].split(";t=")[0] for answer in answers] == [
        '"key:requests/day";r=1',
        '"key:requests/day";r=0',
    ]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"key:requests/day";q=2;w=86400'}
    assert status.split()[1] == b"429"
    assert other.status_code == 200


async def test_an_address_from_which_nobody_is_known_is_limited_and_probes_are_not(
    settings: Settings,
) -> None:
    async with running_gateway(limited(settings, "address:requests=2/day")) as client:
        strangers = [(await client.get("/api/sessions")).status_code for _ in range(3)]
        probes = [(await client.get("/healthz")).status_code for _ in range(5)]
        known = await client.get("/api/sessions", **as_(ANNA))

    assert strangers == [401, 401, 429]
    assert (set(probes), known.status_code) == ({200}, 200)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/v1/chat/completions", {"type": "rate_limit_error", "code": "rate_limited"}),
        ("/v1/messages", {"type": "rate_limit_error"}),
    ],
)
async def test_other_clients_are_refused_in_their_own_words(
    settings: Settings, path: str, told: dict[str, str]
) -> None:
    async with running_gateway(limited(settings, "user:turns=0/day")) as client:
        message = {"role": "user", "content": "/say fine"}
        body = {"model": client.app.state.settings.model, "max_tokens": 9, "messages": [message]}
        refused = await client.post(path, body, **as_(ANNA))

    assert refused.status_code == 429, refused.text
    assert told.items() <= refused.json()["error"].items()
    assert int(refused.headers["retry-after"]) > 0


async def test_a_model_of_unknown_price_is_refused_where_cost_is_limited(settings: Settings) -> None:
    """Nobody can say what it would cost; a limit of tokens holds for it."""
    unknown = {"allowed_models": ("house-model",)}
    rules = "user:cost=5/day", "user+model=house-*:tokens=1M/day"
    async with running_gateway(limited(settings, *rules, **unknown)) as client:
        refused = await say(client, as_(ANNA), model="house-model")
    async with running_gateway(limited(settings, rules[1], **unknown)) as client:
        answered = await say(client, as_(ANNA), model="house-model")

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "price_unknown")
    assert answered.status_code == 200


async def test_refusals_are_in_the_audit_and_counted(settings: Settings) -> None:
    admins = {"admins": ("bob",)}
    async with running_gateway(limited(settings, "user=anna:turns=0/day", **admins)) as client:
        await say(client, as_(ANNA))
        await client.app.state.audit.flush()
        entries = (await client.get("/api/audit", **as_(BOB))).json()["entries"]
        metrics = (await client.get("/metrics", **as_(BOB))).text

    assert any(each["result"] == "refused:rate_limited" and each.get("actor") == "anna" for each in entries)
    assert 'gateway_limit_refusals_total{gateway_limit_measure="turns",gateway_limit_of="user"' in metrics


async def test_one_user_has_half_of_the_places_at_most(settings: Settings) -> None:
    """Of the turns in flight, and of what is read into the memory, however slowly it comes."""
    async with running_gateway(limited(settings, max_turns_in_flight=4)) as client:
        stalls = [await _begun(client, as_(BOB)) for _ in range(3)]
        anna = await say(client, as_(ANNA))
        at, writers, readers = (
            urlsplit(client.url),
            list[asyncio.StreamWriter](),
            list[asyncio.StreamReader](),
        )
        for _ in range(3):
            reader, writer = await asyncio.open_connection(at.hostname, at.port)
            writers.append(writer)
            readers.append(reader)
            writer.write(
                f"POST /api/memory/import HTTP/1.1\r\nHost: x\r\nx-api-key: {BOB}\r\n"
                "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n{".encode()
            )
            await writer.drain()
        async with asyncio.timeout(TIMEOUT):
            third = await readers[-1].readline()  # the one that is refused at once
        headers = {"content-type": "application/x-ndjson", **as_(ANNA)}
        imported = await client.http.post("/api/memory/import", content=b"", headers=headers)
        for writer in writers:
            writer.close()

    assert [status for status, _ in stalls] == [202, 202, 429]
    assert stalls[-1][1] == "user_busy"
    assert anna.status_code == 200
    assert third.split()[1] == b"429"
    assert imported.status_code != 429, imported.text


async def _begun(client: Client, who: dict[str, str]) -> tuple[int, str | None]:
    session = (await client.post("/api/sessions", **who)).json()["id"]
    answer = await client.post(f"/api/sessions/{session}/turns", {"message": "/fault headers_stall"}, **who)
    return answer.status_code, answer.json().get("error", {}).get("code")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_what_a_killed_turn_held_is_settled_once(
    tmp_path: Path, demo_url: str, how: signal.Signals
) -> None:
    """Between the hold and its settlement the process is killed: the hold is there after the restart, the
    turn goes on, and in the end what it used is taken, and a whole answer for the call that was cut off,
    of which nobody knows how much it was: neither more nor less."""
    given = {
        "ANTHROPIC_BASE_URL": demo_url,
        "GATEWAY_SHUTDOWN_GRACE": "0.1",
        "GATEWAY_LIMITS": "user:tokens=100k/day,user:concurrent=1",
    }
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            session = await client.session()
            turn = (await client.begin(session, "/pieces 60\n/pace 20"))["turn_id"]
            path = f"/api/sessions/{session}/events?turn_id={turn}"
            following = follow(client, session, turn)
            await following.until("text", 5)
            following.task.cancel()
        gateway.stop(how)
    held = sqlite3.connect(tmp_path / "data" / "gateway.db")
    with closing(held):
        amounts = dict(held.execute("SELECT measure, amount FROM limit_holds").fetchall())
    with gateway_process(tmp_path, "serve", **given) as gateway:
        async with client_at(gateway.url) as client:
            done = the(events(await client.all_frames(path)), "done")
            after = await limits_of(client)
            again = await client.chat("/say fine", session_id=session)
            last = await limits_of(client)

    assert amounts["concurrent"] == 1
    assert amounts["tokens"] > 8000
    assert done["status"] == "completed"
    used = (
        sum(done["usage"].values()) + done["usage_unreported"] * Settings.model_fields["max_tokens"].default
    )
    tokens = after["user:tokens/day"]
    assert (tokens["used"], tokens["held"], after["user:concurrent"]["held"]) == (used, 0, 0)
    assert last["user:tokens/day"]["used"] == used + sum(the(again, "done")["usage"].values())


async def test_turns_are_closed_and_reading_is_open_while_limits_cannot_be_counted(
    settings: Settings,
) -> None:
    """The table of the counters is gone while the rest of the database works."""
    async with running_gateway(limited(settings, "user:tokens=100k/day", "user:requests=100/day")) as client:
        client.http.headers.update(as_(ANNA))
        session = await client.session()
        with closing(sqlite3.connect(settings.database_path)) as database:
            database.execute("ALTER TABLE limit_counters RENAME TO away")
            refused = await client.post(f"/api/sessions/{session}/turns", {"message": "/say fine"})
            read = await client.get(f"/api/sessions/{session}")
            database.execute("ALTER TABLE away RENAME TO limit_counters")
        again = await client.chat("/say fine", session_id=session)

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage_unavailable")
    assert read.status_code == 200
    assert the(again, "done")["status"] == "completed"


@pytest.mark.parametrize("postgres", [pytest.param(None, marks=needs_postgres)])
@pytest.mark.parametrize(("when_down", "status"), [("open", 200), ("closed", 503)])
async def test_requests_come_in_or_not_while_replicas_cannot_count_them(
    settings: Settings, when_down: str, status: int, postgres: None
) -> None:
    """By a setting; turns never do, either way."""
    url = new_database()
    down = {"database_url": url, "blob_url": f"file://{settings.data_dir}", "limits_when_down": when_down}
    async with running_gateway(limited(settings, "user:requests=100/day", **down)) as client:
        client.http.headers.update(as_(ANNA))
        session = await client.session()
        with psycopg.connect(url, autocommit=True) as database:
            database.execute("ALTER TABLE limit_counters RENAME TO away")
            read = await client.get(f"/api/sessions/{session}")
            turn = await client.post(f"/api/sessions/{session}/turns", {"message": "/say fine"}, **as_(ANNA))
            gauge = await client.get("/metrics")
            database.execute("ALTER TABLE away RENAME TO limit_counters")

    assert read.status_code == status, read.text
    assert turn.status_code == (
        202 if when_down == "open" else 503
    )  # of requests alone: nothing that is spent
    if status == 503:
        assert read.json()["error"]["code"] == "limits_unavailable"
        assert int(read.headers["retry-after"]) > 0
    else:
        assert "gateway_limit_unavailable" in gauge.text


@pytest.mark.parametrize("postgres", [pytest.param(None, marks=needs_postgres)])
async def test_replicas_share_limits_to_the_last_turn_and_request(
    tmp_path: Path, demo_url: str, postgres: None
) -> None:
    """Who asks now here, now there, and everywhere at once, gets what the limit gives, and no more."""
    rules = "user:turns=5/day,user:requests=60/day"
    async with replicas(tmp_path, demo_url, GATEWAY_LIMITS=rules) as start:
        a, b = await start("a"), await start("b")
        clients = [replica.client for replica in (a, b)] * 5
        turns = await asyncio.gather(
            *(client.post("/api/chat", {"message": "/say fine"}) for client in clients)
        )
        requests = await asyncio.gather(*(client.get("/api/sessions") for client in clients * 6))

    assert sorted(answer.status_code for answer in turns) == [200] * 5 + [429] * 5
    assert sorted(answer.status_code for answer in requests) == [200] * 50 + [429] * 10
