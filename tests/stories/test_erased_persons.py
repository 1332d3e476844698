"""A person is exported and erased: nothing of them is left but what the report says."""

import asyncio
import io
import os
import signal
import sqlite3
import zipfile
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from tests.doomed import served_by
from tests.harness import TIMEOUT, Client, client_at, running_gateway, settings_for
from tests.postgres import on_both_engines
from tests.product import Settings

pytestmark = pytest.mark.anyio

ADA, BOB = (f"{name}-secret-0123456789" for name in ("ada", "bob"))
TEAM: dict[str, Any] = {
    "api_keys": SecretStr(f"ada:{ADA},bob:{BOB}"),
    "admins": ("ada",),
    "households": {"home": ["ada", "bob"]},
    "webhook_hosts": ("127.0.0.1",),
    "limits": ("user:turns=1000/hour", "user:tokens=100M/day", "tenant:tokens=900M/day"),
}
WORDS = (
    *("zaubernuss", "quendelduft", "wacholderbeere", "sanddornsaft", "liebstoeckel", "holunderbluete"),
    *("maedesuess", "rainfarn", "tausendgueldenkraut"),
)
"""Planted, each in another kind of thing."""
SAID, ARCHIVED, COMPRESSED, REMEMBERED, FORGOTTEN, KEPT, SCHEDULED, TITLED, PROFILED = WORDS
SHARED = "the fuse box is behind the blue curtain"


def by(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


class Person:
    """Somebody with a key."""

    def __init__(self, client: Client, key: str) -> None:
        self.client, self.key = client, by(key)

    async def ask(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        response = await self.client.http.request(method, path, json=body, headers=self.key)
        assert response.status_code == status, (path, response.text)
        return response.json() if response.content else None

    async def say(self, session: str, message: str) -> None:
        path, headers = "/api/chat", {"accept": "text/event-stream", **self.key}
        body = {"message": message, "session_id": session}
        response = await self.client.http.post(path, json=body, headers=headers)
        assert b'"status":"completed"' in response.content, response.text


async def live(bob: Person) -> dict[str, Any]:
    """Has Bob leave something of every kind; what is needed to look for it."""
    await bob.say("plain", f"{SAID}\n/say I know {SAID}")
    await bob.ask("PATCH", "/api/sessions/plain", {"title": TITLED})
    await bob.say("old", f"{ARCHIVED}\n/say yes, {ARCHIVED}")
    await bob.ask("POST", "/api/sessions/old/archive")
    for number in range(6):
        await bob.say("long", f"{COMPRESSED} {number} {'and so on ' * 200}\n/say yes")
    await bob.ask("POST", "/api/sessions/long/compress", {}, status=201)
    remembered = await bob.ask("POST", "/api/memory", {"content": f"likes {REMEMBERED}"}, status=201)
    deleted = await bob.ask("POST", "/api/memory", {"content": f"hates {FORGOTTEN}"}, status=201)
    await bob.ask("DELETE", f"/api/memory/{deleted['id']}", status=204)
    shared = {"content": SHARED, "owner_type": "household"}
    await bob.ask("POST", "/api/memory", shared, status=201)
    await bob.ask("PUT", "/api/profiles/user/bob", {"fields": {"name": PROFILED}})
    content = {"name": "notes.txt", "text": f"{KEPT}\n" * 50}
    artifact = await bob.ask("POST", "/api/artifacts", content, status=201)
    schedule = {"name": "morning", "message": SCHEDULED, "every": 86_400}
    await bob.ask("POST", "/api/schedules", schedule, status=201)
    webhook = {"url": "http://127.0.0.1:9/told", "events": ["turn.finished"]}
    hook = await bob.ask("POST", "/api/webhooks", webhook, status=201)
    key = await bob.ask("POST", "/api/keys", {"name": "a script"}, status=201)
    return {
        "memory": remembered["id"],
        "artifact": artifact["ref"],
        "secret": hook["secret"],
        "key": key["key"],
    }


async def erased(admin: Person, user: str = "bob") -> dict[str, Any]:
    """The report, once it is there."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            report = await admin.ask("GET", f"/api/users/{user}/erasure")
            if report["state"] == "done":
                return report
            await asyncio.sleep(0.1)


def found_in(folder: Path, *words: str) -> list[tuple[str, str]]:
    """The planted words, in any case, in all files of a data folder, byte by byte."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    read = [(file.name, file.read_bytes().lower()) for file in files]
    return [(name, word) for name, content in read for word in words if word.encode() in content]


@on_both_engines
async def test_everything_about_a_person_is_in_one_file_and_then_nowhere(settings: Settings) -> None:
    """The file has it all and no secret. After the erasure no byte of the planted words is in any file of the
    data folder, what is a household's stays without the name, and the audit names a pseudonym."""
    async with running_gateway(settings.model_copy(update=TEAM)) as client:
        ada, bob = Person(client, ADA), Person(client, BOB)
        await ada.say("hers", "green tea\n/say fine")
        left = await live(bob)
        own = (await client.http.get("/api/me/export", headers=bob.key)).content
        theirs = (await client.http.get("/api/users/bob/export", headers=ada.key)).content
        refused = await client.http.get("/api/users/ada/export", headers=bob.key)

        archive = zipfile.ZipFile(io.BytesIO(own))
        assert archive.testzip() is None
        whole = b"".join(archive.read(name) for name in archive.namelist())
        assert [word for word in WORDS if word.encode() not in whole] == []
        assert left["secret"].encode() not in whole
        assert left["key"][len("cgk_") + 17 :].encode() not in whole
        manifest = orjson.loads(archive.read("manifest.json"))
        assert (manifest["user_id"], manifest["left_out"]) == ("bob", [])
        assert set(manifest["files"]) == set(archive.namelist()) - {"manifest.json"}
        assert archive.read(f"artifacts/{left['artifact']}").startswith(KEPT.encode())
        assert zipfile.ZipFile(io.BytesIO(theirs)).namelist() == archive.namelist()
        assert refused.status_code == 403
        if not settings.database_url:
            assert {KEPT, REMEMBERED, SCHEDULED} <= {word for _, word in found_in(settings.data_dir, *WORDS)}

        await ada.ask("POST", "/api/users/bob/erasure", {"confirm": "ada"}, status=400)
        first = await ada.ask("POST", "/api/users/bob/erasure", {"confirm": "bob"}, status=202)
        report = await erased(ada)
        again = await bob.ask("GET", "/api/sessions")
        with_old_key = await client.http.get("/api/me", headers=by(left["key"]))
        shared = await ada.ask("GET", "/api/memory?q=curtain")
        entries = (await ada.ask("GET", "/api/audit?limit=500"))["entries"]
        own_memories = await bob.ask("GET", "/api/memory")

    assert report["id"] == first["id"]
    assert report["found"]["sessions"] == 3
    assert report["found"]["artifacts"] == 1
    assert {
        *("memories", "deleted_memories", "profiles", "schedules", "webhooks", "api_keys", "limit_counters"),
    } <= set(report["found"])
    assert {each["what"] for each in report["kept"]} >= {"backups", "household_memories", "audit"}
    assert report["person"].startswith("erased:")
    assert again["sessions"] == []
    assert with_old_key.status_code == 401
    assert [each["content"] for each in shared["memories"]] == [SHARED]
    assert [each["content"] for each in own_memories["memories"]] == [SHARED]
    assert not [each for each in entries if each.get("actor") == "bob" and each["at"] < report["finished_at"]]
    assert found_in(settings.data_dir, *WORDS) == []
    assert not [file for file in settings.data_dir.rglob("*.jsonl.gz") if file.is_file()]


@on_both_engines
async def test_a_legal_hold_stops_every_deletion_until_it_is_lifted(settings: Settings) -> None:
    """By its owner, by retention, by an erasure; only an admin places and lifts it, and each is in the
    audit."""
    async with running_gateway(settings.model_copy(update=TEAM)) as client:
        ada, bob = Person(client, ADA), Person(client, BOB)
        left = await live(bob)
        await bob.ask("POST", "/api/holds", {"user": "bob", "reason": "none"}, status=403)
        hold = await ada.ask("POST", "/api/holds", {"user": "bob", "reason": "case 7"}, status=201)
        await ada.ask("POST", "/api/holds", {"user": "bob", "reason": "case 7"}, status=409)
        schedules = (await bob.ask("GET", "/api/schedules"))["schedules"]

        for method, path, body in (
            ("DELETE", "/api/sessions/plain", None),
            ("DELETE", f"/api/artifacts/{left['artifact']}", None),
            ("POST", f"/api/memory/{left['memory']}/erase", {}),
            ("DELETE", f"/api/schedules/{schedules[0]['id']}", None),
            ("POST", "/api/me/erasure", {"confirm": "bob"}),
        ):
            refused = await client.http.request(method, path, json=body, headers=bob.key)
            assert (refused.status_code, refused.json()["error"]["code"]) == (409, "legal_hold"), path
        refused = await client.http.post("/api/users/bob/erasure", json={"confirm": "bob"}, headers=ada.key)
        assert refused.json()["error"]["code"] == "legal_hold"
        assert "case 7" not in refused.text

        await ada.ask("DELETE", f"/api/holds/{hold['id']}", status=204)
        await ada.ask("POST", "/api/holds", {"session_id": "old", "reason": "case 8"}, status=404)  # her name
        old = (await bob.ask("GET", "/api/sessions/old"))["id"]
        one = await ada.ask("POST", "/api/holds", {"session_id": old, "reason": "case 8"}, status=201)
        await bob.ask("DELETE", "/api/sessions/plain", status=204)
        await bob.ask("DELETE", "/api/sessions/old", status=409)
        await ada.ask("POST", "/api/users/bob/erasure", {"confirm": "bob"}, status=409)
        await ada.ask("DELETE", f"/api/holds/{one['id']}", status=204)
        await bob.ask("POST", f"/api/memory/{left['memory']}/erase", {}, status=204)
        await bob.ask("DELETE", "/api/sessions/old", status=204)
        entries = (await ada.ask("GET", "/api/audit?action=hold"))["entries"]

    done = [each["action"] for each in reversed(entries) if each["result"] == "done"]
    assert done == ["hold.create", "hold.lift", "hold.create", "hold.lift"]


async def test_an_erasure_waits_for_a_hold_that_came_after_it(settings: Settings) -> None:
    """It is held before its next step, says so, and goes on when the hold is lifted."""
    async with running_gateway(settings.model_copy(update=TEAM)) as client:
        ada, bob = Person(client, ADA), Person(client, BOB)
        await live(bob)
        holds = client.app.state.deps.holds
        hold = await ada.ask("POST", "/api/holds", {"user": "bob", "reason": "case 7"}, status=201)
        held = await holds.get(hold["id"])
        await holds.lift(hold["id"])
        # In one moment: the request is stored, and the hold is there before the first step.
        asked = asyncio.create_task(ada.ask("POST", "/api/users/bob/erasure", {"confirm": "bob"}, status=202))
        while await client.app.state.deps.holds.list(owner="bob") == []:
            if client.app.state.being_erased.users:
                await holds.place(held)
        await asked
        async with asyncio.timeout(TIMEOUT):
            while (now := await ada.ask("GET", "/api/users/bob/erasure"))["state"] != "held":
                assert now["state"] != "done"
                await asyncio.sleep(0.1)
        refused = await client.http.get("/api/sessions", headers=bob.key)
        await ada.ask("DELETE", f"/api/holds/{hold['id']}", status=204)
        report = await erased(ada)

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "being_erased")
    assert "waits_for" not in report
    assert found_in(settings.data_dir, *WORDS) == []


async def test_a_turn_that_runs_is_cancelled_and_a_person_may_erase_themselves(settings: Settings) -> None:
    """They confirm with their own id, and read the report when they come again."""
    async with running_gateway(settings.model_copy(update=TEAM)) as client:
        ada, bob = Person(client, ADA), Person(client, BOB)
        await bob.ask("POST", "/api/sessions", {"id": "s"}, status=201)
        body = {"message": f"{SAID}\n/pieces 2000\n/pace 10"}
        await bob.ask("POST", "/api/sessions/s/turns", body, status=202)
        await bob.ask("POST", "/api/me/erasure", {"confirm": "bob"}, status=202)
        await erased(ada)
        report = await bob.ask("GET", "/api/me/erasure")

    assert report["state"] == "done"
    assert report["requested_by"] == report["person"]
    assert found_in(settings.data_dir, SAID) == []


async def test_an_erasure_gives_no_new_budget_and_no_counter_names_anybody(settings: Settings) -> None:
    """What was taken of the limits stays until its period is over, under a hash."""
    rules = ("user:turns=1/month", "user:concurrent=3", "key:tokens=100M/month")
    async with running_gateway(settings.model_copy(update=TEAM | {"limits": rules})) as client:
        ada, bob = Person(client, ADA), Person(client, BOB)
        await bob.say("s", "/say fine")
        await ada.ask("POST", "/api/users/bob/erasure", {"confirm": "bob"}, status=202)
        await erased(ada)
        again = await bob.ask("POST", "/api/chat", {"message": "/say fine"}, status=429)
        with closing(sqlite3.connect(settings.database_path)) as database:
            names = [name for (name,) in database.execute("SELECT name FROM limit_counters")]

    assert again["error"]["code"] == "rate_limited"
    assert len(names) == len(rules)
    assert not [name for name in names if "bob" in name]


MOMENTS = ("keys", "artifacts", "sessions", "memories", "audit", "bytes")


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
async def test_an_erasure_that_is_killed_goes_on_at_the_next_start(
    tmp_path: Path, demo_url: str, moment: str
) -> None:
    """With kill -9 before each step. The report counts what was there before the first of them."""
    async with served_by(_serve, tmp_path, demo_url, moment) as (url, process), client_at(url) as client:
        await live(Person(client, BOB))
        ada = Person(client, ADA)
        found = await ada.ask("POST", "/api/users/bob/erasure", {"confirm": "bob"}, status=202)
        await asyncio.to_thread(process.join, TIMEOUT)
        assert process.exitcode == -signal.SIGKILL
    async with running_gateway(settings_for(tmp_path, demo_url, **TEAM)) as client:
        report = await erased(Person(client, ADA))

    assert report["id"] == found["id"]
    assert (report["found"]["sessions"], report["found"]["artifacts"]) == (3, 1)
    assert found_in(tmp_path, *WORDS) == []
    assert not [file for file in tmp_path.rglob("*.jsonl.gz") if file.is_file()]


def _serve(folder: Path, model_url: str, moment: str, ready: Connection) -> None:
    """A gateway that kills itself when the erasure comes to that step."""
    from gateway.service.person_erasure import PersonEraser

    stored = PersonEraser._step  # pyright: ignore[reportPrivateUsage] - the moments between two steps

    async def dying(self: Any, erasure: Any, step: str) -> Any:
        reached = await stored(self, erasure, step)
        if step == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return reached

    PersonEraser._step = dying  # pyright: ignore[reportPrivateUsage]
    asyncio.run(_run(folder, model_url, ready))


async def _run(folder: Path, model_url: str, ready: Connection) -> None:
    async with running_gateway(settings_for(folder, model_url, **TEAM)) as client:
        ready.send(client.url)
        await asyncio.Event().wait()
