"""Who loses access loses what is open with it: each way to lose it, each thing that is open, on one gateway
and where another replica hears of it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from gateway.service import ended_access, open_access
from gateway.storage.replica_signals import Signals
from tests.harness import TIMEOUT, Client, running_gateway
from tests.identity_provider import AUDIENCE, Issuer, issuing
from tests.postgres import database_in, needs_postgres
from tests.product import Settings, now_ms
from tests.stories.asking import Outbox

pytestmark = pytest.mark.anyio

ADA, BOB, OPS = (f"{name}-secret-0123456789" for name in ("ada", "bob", "ops"))
ENGINES = ("one gateway", pytest.param("two replicas", marks=needs_postgres))
SEND = '/call send {"to": "Li"}\n/then\n/say over'
BUSY = "/fault headers_stall"
"""A turn that runs on, and says nothing."""
MCP = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


@dataclass
class Place:
    """Where rights are taken away (`here`), where what is open is seen (`there`), and who issues tokens."""

    here: Client
    there: Client
    issuer: Issuer

    async def key(self, user: str = "ada", **more: Any) -> tuple[str, dict[str, str]]:
        """A stored key of that user: its id, and the header that it is sent in."""
        made = await self.here.post("/api/keys", {"name": "k", "user": user, **more}, **bearer(OPS))
        assert made.status_code == 201, made.text
        return made.json()["id"], bearer(made.json()["key"])

    async def revoke(self, key_id: str) -> None:
        answer = await self.here.http.delete(f"/api/keys/{key_id}", headers=bearer(OPS))
        assert answer.status_code == 204, answer.text

    async def session(self, key: str = ADA) -> str:
        return (await self.there.post("/api/sessions", {}, **bearer(key))).json()["id"]

    async def turn(
        self, session: str, message: str = BUSY, by: dict[str, str] | None = None, **more: Any
    ) -> str:
        body = {"message": message, **more}
        begun = await self.there.post(f"/api/sessions/{session}/turns", body, **(by or bearer(ADA)))
        assert begun.status_code == 202, begun.text
        if message == BUSY:
            await self.calling(session, begun.json()["turn_id"])
        return begun.json()["turn_id"]

    async def calling(self, session: str, turn: str) -> None:
        """Returns when a turn in a session of Ada's or Bob's waits for its model."""
        path = f"/api/sessions/{session}/events?turn_id={turn}&types=iteration_start"
        async with asyncio.timeout(TIMEOUT):
            for key in (ADA, BOB):
                while (
                    found := await self.there.get(path, accept="application/json", **bearer(key))
                ).is_success:
                    if found.json()["events"]:
                        return
                    await asyncio.sleep(0.02)

    async def ended(self, turn: str, by: str = ADA) -> dict[str, Any]:
        """The row of a turn, once it is over."""
        async with asyncio.timeout(TIMEOUT):
            while (row := (await self.here.get(f"/api/turns/{turn}", **bearer(by))).json())[
                "status"
            ] != "done":
                await asyncio.sleep(0.02)
        return row

    async def audited(self, action: str) -> list[dict[str, Any]]:
        """The entries of that action, once there are any: another replica stores its own a moment later."""
        async with asyncio.timeout(TIMEOUT):
            while not (found := await self._entries(action)):
                await asyncio.sleep(0.05)
        return found

    async def _entries(self, action: str) -> list[dict[str, Any]]:
        found = await self.here.get(f"/api/audit?action={action}", **bearer(OPS))
        return found.json()["entries"]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture(params=ENGINES)
async def place(
    request: pytest.FixtureRequest, settings: Settings, tmp_path: Path, anyio_backend: str
) -> AsyncGenerator[Place]:
    async with opened(request.param, settings, tmp_path) as found:
        yield found


@asynccontextmanager
async def opened(kind: str, settings: Settings, folder: Path) -> AsyncGenerator[Place]:
    async with AsyncExitStack() as stack:
        issuer = await stack.enter_async_context(issuing())
        given: dict[str, Any] = {
            "api_keys": SecretStr(f"ada:{ADA},bob:{BOB},ops:{OPS}"),
            "admins": ("ops",),
            "oidc_issuer": issuer.url,
            "oidc_audience": (AUDIENCE,),
            "oidc_client_id": "page",
            "webhook_hosts": ("127.0.0.1",),
        }
        if kind == "two replicas":
            blobs = (folder / "blobs").as_uri()
            given |= {"database_url": database_in(folder), "blob_url": blobs}
        clients: list[Client] = []
        for name in ("a", "b")[: 1 + (kind == "two replicas")]:
            own = {"data_dir": settings.data_dir / name, "replica": name}
            gateway = running_gateway(settings.model_copy(update=given | own), *Outbox().tools)
            clients.append(await stack.enter_async_context(gateway))
        yield Place(clients[0], clients[-1], issuer)


# What is open

Opener = Callable[[Place, str, str, dict[str, str]], Awaitable[tuple[int, bytes]]]


async def answer(place: Place, path: str, by: dict[str, str], body: Any = None) -> tuple[int, bytes]:
    """The status of an answer, and all of it that came until its end."""
    method, got = "GET" if body is None else "POST", b""
    async with (
        asyncio.timeout(TIMEOUT),
        place.there.http.stream(method, path, json=body, headers=by) as response,
    ):
        try:
            async for chunk in response.aiter_bytes():
                got += chunk
        except httpx2.RemoteProtocolError:
            got += b"<broken off>"
    return response.status_code, got


async def events(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    return await answer(place, f"/api/sessions/{session}/events", by | {"accept": "text/event-stream"})


async def turn_events(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    return await answer(place, f"/api/sessions/{session}/events?turn_id={turn}", by)


async def long_poll(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    return await answer(place, f"/streams/sessions/{session}?offset=now&live=long-poll", by)


async def durable_events(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    return await answer(place, f"/streams/sessions/{session}?offset=now&live=sse", by)


async def task(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": turn}}
    return await answer(place, "/a2a", by | {"a2a-version": "1.0"}, asked)


async def chat_stream(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    return await answer(place, f"/ai-sdk/chat/{session}/stream", by)


async def response_stream(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    return await answer(place, f"/v1/responses/resp_{turn}?stream=true", by)


async def connected(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    body = {
        "threadId": session,
        "runId": "r",
        "messages": [],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }
    return await answer(place, "/ag-ui/connect", by, body)


async def replayed(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    """At the pace that it had: between its two turns lies a pause."""
    return await answer(place, f"/api/sessions/{session}/replay?speed=0.0001", by)


async def uploaded(place: Place, session: str, turn: str, by: dict[str, str]) -> tuple[int, bytes]:
    """A file that comes in slowly."""

    async def slowly() -> AsyncGenerator[bytes]:
        while True:
            yield b"x" * 5000
            await asyncio.sleep(0.05)

    async with asyncio.timeout(TIMEOUT):
        try:
            response = await place.there.http.post(
                "/api/artifacts?name=slow.txt", content=slowly(), headers=by | {"content-type": "text/plain"}
            )
        except httpx2.TransportError:  # it was answered, and nobody took the rest
            return 403, b"access_ended"
    return response.status_code, response.content


NAMED = (events, turn_events, task, chat_stream, response_stream, connected, replayed)
"""Streams whose last frame says why."""
OPENERS = (*NAMED, long_poll, durable_events, uploaded)


async def until_open(
    place: Place, subject: str, *tasks: "asyncio.Task[tuple[int, bytes]]", count: int = 0
) -> None:
    """As many are open as there are `tasks`, none of which is over."""
    async with asyncio.timeout(TIMEOUT):
        while place.there.app.state.open_access.open_of(subject) < max(1, count, len(tasks)):
            await asyncio.sleep(0.01)
            over = [each.result() for each in tasks if each.done()]
            assert not over, over


async def all_open(place: Place, subject: str, by: dict[str, str]) -> list["asyncio.Task[tuple[int, bytes]]"]:
    """Everything that can be open, in a session of Ada's with a turn that she began otherwise."""
    session = await place.session()
    await place.ended(await place.turn(session, "/say hello"))
    turn = await place.turn(session)
    tasks = [asyncio.create_task(open_(place, session, turn, by)) for open_ in OPENERS]  # type: ignore[arg-type]
    await until_open(place, subject, *tasks)
    await asyncio.sleep(0.1)  # so that answers have begun
    assert not any(each.done() for each in tasks), [each.result() for each in tasks if each.done()]
    return tasks


async def check_ended(tasks: list["asyncio.Task[tuple[int, bytes]]"]) -> None:
    """All of them, and those say why that can."""
    async with asyncio.timeout(TIMEOUT):
        answers = await asyncio.gather(*tasks)
    for open_, (status, body) in zip(OPENERS, answers, strict=True):
        if open_ in NAMED:
            assert (status, b"access_ended" in body) == (200, True), (open_.__name__, body)
        elif open_ is durable_events:
            assert status == 200
        else:
            assert (status, b"access_ended" in body) == (403, True), (open_.__name__, status, body)


# How it is lost


async def test_a_revoked_key_ends_all_that_is_open_with_it(place: Place) -> None:
    """Whatever its dialect; the same again is refused. Turns that its user began otherwise go on, and so does
    what another key has open."""
    key_id, by = await place.key()
    other_id, other = await place.key()
    tasks = await all_open(place, key_id, by)
    others = await all_open(place, other_id, other)

    await place.revoke(key_id)

    await check_ended(tasks)
    assert not any(each.done() for each in others)
    assert (await place.there.get("/api/sessions", **by)).status_code == 401
    for each in others:
        each.cancel()
    await asyncio.wait(others)
    entries = await place.audited("access.end")
    assert [(each["actor"], each["subject_kind"], each["subject_id"], each["times"]) for each in entries] == [
        ("gateway:access", "key", key_id, len(OPENERS))
    ]


async def test_an_expired_key_is_a_revoked_one(place: Place) -> None:
    """All that is open ends at its time, with nobody there who does it; and what it had begun."""
    key_id, by = await place.key(expires_at=now_ms() + 4000)
    session = await place.session()
    turn = await place.turn(session, by=by)
    tasks = await all_open(place, key_id, by)

    await check_ended(tasks)

    assert (await place.ended(turn))["outcome"] == "cancelled"
    listed = (await place.here.get("/api/keys?everybody=true", **bearer(OPS))).json()["keys"]
    assert "revoked_at" in next(each for each in listed if each["id"] == key_id)


async def test_a_token_that_expires_ends_what_is_open_and_no_turn(place: Place) -> None:
    """Its user gets another one: only what was opened with this one ends."""
    by = bearer(place.issuer.token(exp=int(time.time()) + 5))
    session = await place.session()
    turn = await place.turn(session, by=by)
    tasks = [asyncio.create_task(open_(place, session, turn, by)) for open_ in (events, long_poll)]
    await until_open(place, "ada", *tasks)

    async with asyncio.timeout(TIMEOUT):
        (_, streamed), (status, _) = await asyncio.gather(*tasks)

    assert b"access_ended" in streamed
    assert status == 403
    assert (await place.here.get(f"/api/turns/{turn}", **bearer(ADA))).json()["status"] == "running"


def cookie_of(back: httpx2.Response) -> str:
    """The value that signs a browser in."""
    (found,) = [each for each in back.headers.get_list("set-cookie") if each.startswith("gateway_sign_in=")]
    return found.partition("=")[2].partition(";")[0]


async def signed_in(place: Place, client: Client) -> dict[str, str]:
    """The cookie of a browser that Ada signs in with."""
    begun = await client.get("/auth/sign-in")
    sent = dict(part.split("=") for part in begun.headers["location"].partition("?")[2].split("&"))
    place.issuer.id_token = place.issuer.token(aud="page", nonce=sent["nonce"])
    kept = "; ".join(f"{name}={value}" for name, value in client.http.cookies.items())
    client.http.cookies.clear()
    back = await client.get(f"/auth/callback?code=c&state={sent['state']}", cookie=kept)
    assert back.status_code == 303, back.text
    found = {
        "cookie": f"gateway_sign_in={cookie_of(back)}",
        "sec-fetch-site": "same-origin",
    }
    client.http.cookies.clear()
    return found


async def test_who_signs_out_ends_what_that_browser_has_open_and_has_begun(place: Place) -> None:
    """In all its tabs, on all replicas; another browser of theirs goes on. A turn says why it was stopped."""
    mine, other = await signed_in(place, place.here), await signed_in(place, place.here)
    session, kept = await place.session(), await place.session()
    turn, of_other = await place.turn(session, by=mine), await place.turn(kept, by=other)
    reading = [asyncio.create_task(turn_events(place, kept, of_other, by)) for by in (mine, other)]
    await until_open(place, "ada", *reading)

    out = await place.here.post("/auth/sign-out", **mine)

    assert out.status_code == 200, out.text
    async with asyncio.timeout(TIMEOUT):
        assert b"access_ended" in (await reading[0])[1]
    assert (await place.ended(turn))["outcome"] == "cancelled"
    assert await warned(place, session) == ["access_ended"]
    assert not reading[1].done()
    assert (await place.here.get(f"/api/turns/{of_other}", **bearer(ADA))).json()["status"] == "running"
    reading[1].cancel()


async def test_who_signs_in_again_in_the_same_browser_keeps_their_turns(place: Place) -> None:
    """The former sign-in ends, and its turns are the new one's."""
    mine = await signed_in(place, place.here)
    session = await place.session()
    turn = await place.turn(session, by=mine)
    place.here.http.cookies.set("gateway_sign_in", mine["cookie"].partition("=")[2])
    begun = await place.here.get("/auth/sign-in")
    sent = dict(part.split("=") for part in begun.headers["location"].partition("?")[2].split("&"))
    place.issuer.id_token = place.issuer.token(aud="page", nonce=sent["nonce"])
    back = await place.here.get(f"/auth/callback?code=c&state={sent['state']}")
    assert back.status_code == 303, back.text
    new = cookie_of(back)
    place.here.http.cookies.clear()

    assert (await place.here.get("/api/me", **mine)).status_code == 401
    assert (await place.here.get(f"/api/turns/{turn}", **bearer(ADA))).json()["status"] == "running"
    out = {"cookie": f"gateway_sign_in={new}", "sec-fetch-site": "same-origin"}
    assert (await place.here.post("/auth/sign-out", **out)).status_code == 200
    assert (await place.ended(turn))["outcome"] == "cancelled"


async def warned(place: Place, session: str) -> list[str]:
    page = await place.here.get(
        f"/api/sessions/{session}/events?types=warning", accept="application/json", **bearer(ADA)
    )
    return [each["data"]["code"] for each in page.json()["events"]]


async def test_turns_of_a_revoked_key_end_whatever_they_wait_for(place: Place) -> None:
    """One that runs, one that waits for it, and one that waits for a person; each says why."""
    key_id, by = await place.key()
    session, asking = await place.session(), await place.session()
    running = await place.turn(session, by=by)
    queued = await place.turn(session, "/say hi", by=by, on_conflict="queue")
    own = await place.turn(session, "/say mine", on_conflict="queue")
    waiting = await place.turn(asking, '/call send {"to": "李雷"}\n/then\n/say over', by=by)
    async with asyncio.timeout(TIMEOUT):
        while (await place.here.get(f"/api/turns/{waiting}", **bearer(ADA))).json()[
            "status"
        ] != "awaiting_approval":
            await asyncio.sleep(0.02)

    await place.revoke(key_id)

    for each in (running, queued, waiting):
        assert (await place.ended(each))["outcome"] == "cancelled"
    assert (await place.ended(own))["outcome"] == "completed"
    assert await warned(place, session) == ["access_ended"] * 2
    assert await warned(place, asking) == ["access_ended"]
    ended = await place.audited("turn.end")
    assert [(each["actor"], each["subject_id"], each["times"]) for each in ended] == [("ops", key_id, 3)]


async def test_schedules_and_webhooks_of_a_revoked_key_rest_until_somebody_takes_them_over(
    place: Place,
) -> None:
    """With a reason that is shown; those of others go on. Who resumes one does so with their own key."""
    key_id, by = await place.key()
    session = await place.session()
    made: list[list[str]] = []
    for maker in (by, bearer(ADA)):
        schedule = await place.there.post(
            "/api/schedules", {"message": "hi", "every": 3600, "session_id": session}, **maker
        )
        webhook = await place.there.post("/api/webhooks", {"url": "http://127.0.0.1:9/x"}, **maker)
        assert (schedule.status_code, webhook.status_code) == (201, 201), schedule.text + webhook.text
        made.append([schedule.json()["id"], webhook.json()["id"]])
    (schedule, webhook), (other_schedule, other_webhook) = made

    await place.revoke(key_id)

    async def seen(path: str) -> dict[str, Any]:
        return (await place.there.get(path, **bearer(ADA))).json()

    row = await seen(f"/api/schedules/{schedule}")
    assert (row["status"], row["reason"], row.get("due_at")) == ("paused", "key_revoked", None)
    hook = await seen(f"/api/webhooks/{webhook}")
    assert (hook["reason"], hook["disabled_at"] > 0) == ("key_revoked", True)
    assert (await seen(f"/api/schedules/{other_schedule}"))["status"] == "active"
    assert "disabled_at" not in await seen(f"/api/webhooks/{other_webhook}")

    assert (
        await place.there.http.patch(
            f"/api/schedules/{schedule}", json={"status": "active"}, headers=bearer(ADA)
        )
    ).status_code == 200
    changed = await place.there.http.patch(
        f"/api/webhooks/{webhook}", json={"enabled": True}, headers=bearer(ADA)
    )
    assert (changed.status_code, changed.json().get("reason")) == (200, None)
    await looked_at(place)
    assert (await seen(f"/api/schedules/{schedule}"))["status"] == "active"
    assert "disabled_at" not in await seen(f"/api/webhooks/{webhook}")


async def test_what_was_granted_with_a_key_that_is_revoked_asks_again(place: Place) -> None:
    """Somebody who had the key allowed more than one call with it."""
    key_id, by = await place.key()
    session = await place.session()
    turn = await place.turn(session, SEND)
    call = await waiting_call(place, turn)
    path = f"/api/sessions/{session}/turns/{turn}/approvals/{call}"
    decided = await place.there.post(path, {"decision": "approve", "scope": "always"}, **by)
    assert decided.is_success, decided.text
    await place.ended(turn)
    await place.ended(await place.turn(session, SEND))  # nobody is asked

    await place.revoke(key_id)

    assert (await place.there.get("/api/grants", **bearer(ADA))).json()["grants"] == []
    assert await waiting_call(place, await place.turn(session, SEND))
    entries = await place.audited("grant.end")
    assert [(each["actor"], each["subject_id"], each["times"]) for each in entries] == [("ops", key_id, 1)]


async def waiting_call(place: Place, turn: str) -> str:
    """The id of the call for which a turn of Ada's waits."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            found = (await place.there.get("/api/approvals", **bearer(ADA))).json()["approvals"]
            if calls := [each["tool_call_id"] for each in found if each["turn_id"] == turn]:
                return calls[0]
            await asyncio.sleep(0.02)


async def looked_at(place: Place) -> None:
    """What is still used has been looked for."""
    ending = place.here.app.state.gateway.access_ending
    assert await ending.store.still_used() == []


async def test_who_changes_roles_again_and_again_has_guests_looked_at_now_and_then(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at all guests for each change of one of them would have all others wait for it."""
    monkeypatch.setattr(open_access, "LOOK_EVERY", TIMEOUT)
    async with opened("one gateway", settings, tmp_path) as place:
        member, session = await shared_with_bob(place)
        task = asyncio.create_task(answer(place, f"/api/sessions/{session}/events", bearer(BOB)))
        await until_open(place, "bob", task)
        await asyncio.sleep(0.1)
        standing, looks = place.here.app.state.gateway.access_ending.standing, list[str]()
        may_read = standing.may_read

        async def counted(user_id: str, session_id: str) -> bool:
            looks.append(session_id)
            return await may_read(user_id, session_id)

        monkeypatch.setattr(standing, "may_read", counted)
        monkeypatch.setattr(open_access, "GUESTS_PAUSE", TIMEOUT)
        after = 0
        async with asyncio.timeout(TIMEOUT):
            while after < 20:
                role = ("reader", "editor")[after % 2]
                await place.here.http.put(member, json={"role": role}, headers=bearer(ADA))
                after += bool(looks)
        assert looks == [session]
        task.cancel()


async def shared_with_bob(place: Place) -> tuple[str, str]:
    """A session of Ada's in which Bob may write: the path of his membership, and its id."""
    project = (await place.here.post("/api/projects", {"name": "p"}, **bearer(ADA))).json()["id"]
    member = f"/api/projects/{project}/members/bob"
    assert (await place.here.http.put(member, json={"role": "editor"}, headers=bearer(ADA))).is_success
    assert (await place.here.post(f"/api/invitations/{project}/accept", {}, **bearer(BOB))).is_success
    session = await place.session()
    shared = await place.here.http.patch(
        f"/api/sessions/{session}", json={"project_id": project, "shared": "write"}, headers=bearer(ADA)
    )
    assert shared.status_code == 200, shared.text
    return member, session


async def test_who_is_no_member_any_more_ends_reading_and_writing(place: Place) -> None:
    """What they replay too; their turn in the session says why it was stopped."""
    member, session = await shared_with_bob(place)
    await place.ended(await place.turn(session, "/say hello"))
    turn = await place.turn(session, by=bearer(BOB))
    openers = (events, turn_events, replayed, chat_stream, task)
    tasks = [asyncio.create_task(open_(place, session, turn, bearer(BOB))) for open_ in openers]
    await until_open(place, "bob", *tasks)
    await asyncio.sleep(0.2)

    removed = await place.here.http.delete(member, headers=bearer(ADA))

    assert removed.status_code == 204, removed.text
    async with asyncio.timeout(TIMEOUT):
        answers = await asyncio.gather(*tasks)
    assert [b"access_ended" in body for _, body in answers] == [True] * len(openers)
    assert (await place.ended(turn))["outcome"] == "cancelled"
    assert await warned(place, session) == ["access_ended"]


async def test_everything_of_an_erased_user_ends_at_once(place: Place) -> None:
    session = await place.session(BOB)
    turn = await place.turn(session, by=bearer(BOB))
    reading = asyncio.create_task(events(place, session, turn, bearer(BOB)))
    await until_open(place, "bob")

    asked = await place.here.post("/api/users/bob/erasure", {"confirm": "bob"}, **bearer(OPS))

    assert asked.status_code == 202, asked.text
    async with asyncio.timeout(TIMEOUT):
        assert b"access_ended" in (await reading)[1]


def unheard(_signals: Signals, _sent: object) -> None:
    """Nothing comes of it."""


async def test_what_is_not_told_is_seen_a_little_later(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal is lost with the connection that carries it, and what a process had no time to end stays."""
    monkeypatch.setattr(Signals, "hear", unheard)
    key_id, by = await place.key()
    session = await place.session()
    turn = await place.turn(session, by=by)
    reading = asyncio.create_task(events(place, session, turn, by))
    await until_open(place, key_id)

    await place.here.app.state.gateway.access_ending.store.end_key(key_id, now_ms())

    async with asyncio.timeout(TIMEOUT):
        assert b"access_ended" in (await reading)[1]
    monkeypatch.undo()
    assert (await place.ended(turn))["outcome"] == "cancelled"


async def test_who_revokes_their_own_key_is_told_that_it_is_done(place: Place) -> None:
    key_id, by = await place.key()
    answered = await place.there.http.delete(f"/api/keys/{key_id}", headers=by)
    assert answered.status_code == 204
    assert (await place.there.get("/api/me", **by)).status_code == 401


async def test_a_schedule_of_a_key_that_is_gone_from_the_settings_does_not_run(
    settings: Settings, tmp_path: Path
) -> None:
    """Its user may have other ways in: nobody stands for this one."""
    async with opened("one gateway", settings, tmp_path) as before:
        made = await before.there.post("/api/schedules", {"message": "hi", "every": 3600}, **bearer(BOB))
        schedule = made.json()["id"]
    given = {
        "api_keys": SecretStr(f"ada:{ADA},ops:{OPS}"),
        "admins": ("ops",),
        "data_dir": settings.data_dir / "a",
    }
    async with running_gateway(settings.model_copy(update=given)) as client:
        made = await client.post("/api/keys", {"name": "k", "user": "bob"}, **bearer(OPS))
        by = bearer(made.json()["key"])
        # 409: the start's own look at ended keys paused it between the run's reading and its writing.
        assert (await client.post(f"/api/schedules/{schedule}/run", {}, **by)).status_code in {200, 202, 409}
        async with asyncio.timeout(TIMEOUT):
            while (row := (await client.get(f"/api/schedules/{schedule}", **by)).json())[
                "status"
            ] == "active":
                await asyncio.sleep(0.05)
    assert (row["status"], row["reason"]) == ("paused", "key_revoked")


async def test_what_was_made_with_a_key_that_is_gone_from_the_settings_ends_at_the_next_start(
    settings: Settings, tmp_path: Path
) -> None:
    """Its turns and webhooks too; what its user makes in another way, and takes over, goes on."""
    async with opened("one gateway", settings, tmp_path) as before:
        hook = await before.there.post("/api/webhooks", {"url": "http://127.0.0.1:9/x"}, **bearer(BOB))
        kept = await before.there.post("/api/webhooks", {"url": "http://127.0.0.1:9/x"}, **bearer(ADA))
        schedule = await before.there.post("/api/schedules", {"message": "hi", "every": 3600}, **bearer(BOB))
        session = await before.session(BOB)
        turn = await before.turn(session, '/call send {"to": "x"}', bearer(BOB))
        path = f"/api/turns/{turn}"
        async with asyncio.timeout(TIMEOUT):
            while (await before.there.get(path, **bearer(BOB))).json()["status"] != "awaiting_approval":
                await asyncio.sleep(0.02)
    given = {
        "api_keys": SecretStr(f"ada:{ADA},ops:{OPS}"),
        "admins": ("ops",),
        "data_dir": settings.data_dir / "a",
        "webhook_hosts": ("127.0.0.1",),
    }
    async with running_gateway(settings.model_copy(update=given), *Outbox().tools) as client:
        made = await client.post("/api/keys", {"name": "k", "user": "bob"}, **bearer(OPS))
        by = bearer(made.json()["key"])
        hook, schedule = f"/api/webhooks/{hook.json()['id']}", f"/api/schedules/{schedule.json()['id']}"
        async with asyncio.timeout(TIMEOUT):
            while (row := (await client.get(path, **by)).json())["status"] != "done":
                await asyncio.sleep(0.05)
        assert row["outcome"] == "cancelled"
        assert (await client.get(hook, **by)).json()["reason"] == "key_revoked"
        assert (await client.get(schedule, **by)).json()["reason"] == "key_revoked"
        other = (await client.get(f"/api/webhooks/{kept.json()['id']}", **bearer(ADA))).json()
        assert "disabled_at" not in other
        await client.http.patch(hook, json={"enabled": True}, headers=by)
        await client.http.patch(schedule, json={"status": "active"}, headers=by)
        ending = client.app.state.gateway.access_ending
        assert await ending.store.unlisted(ending.standing.static, now_ms()) == []


def test_what_is_lost_is_looked_for_within_seconds() -> None:
    """As the documents promise."""
    assert open_access.TICK <= 1
    assert ended_access.LOOK_EVERY <= 1
    assert max(open_access.LOOK_EVERY, ended_access.LOOK_EVERY * ended_access.USED_EVERY) <= 3
