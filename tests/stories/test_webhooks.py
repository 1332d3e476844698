"""Webhooks: what happens in a user's sessions is told to their addresses, signed, once and in order."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, text
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from gateway.service.webhook_worker import MAX_OF_WEBHOOK
from tests.harness import Client, running_gateway
from tests.loopback import TIMEOUT
from tests.postgres import on_both_engines
from tests.product import Settings, now_ms
from tests.stories.asking import Outbox, ask
from tests.webhook_receiver import STALL, receiving

pytestmark = pytest.mark.anyio


def quick(settings: Settings, **changes: Any) -> Settings:
    """Receivers may be on this machine, and tries follow each other soon."""
    given = {"webhook_hosts": ("127.0.0.1",), "webhook_retries": (0.05, 0.05), "webhook_timeout": TIMEOUT}
    return settings.model_copy(update=given | changes)


async def added(client: Client, url: str, *events: str) -> dict[str, Any]:
    response = await client.post("/api/webhooks", {"url": url} | ({"events": list(events)} if events else {}))
    assert response.status_code == 201, response.text
    return response.json()


async def over(client: Client, webhook: dict[str, Any], count: int = 1) -> list[dict[str, Any]]:
    """The deliveries of a webhook, the oldest first, once so many have ended."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            found = (await client.get(f"/api/webhooks/{webhook['id']}/deliveries")).json()["deliveries"]
            if sum(each["state"] != "pending" for each in found) >= count:
                return found[::-1]
            await asyncio.sleep(0.02)


@on_both_engines
async def test_the_end_of_a_turn_is_told_signed(settings: Settings) -> None:
    """As the specification has it: its makers' library verifies it, and refuses it when it was changed."""
    async with receiving() as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url)
        done = (await client.chat("你好"))[-1]

        headers, body = await receiver.next()

        told = Webhook(webhook["secret"]).verify(body, headers)
        assert told["type"] == "turn.finished"
        assert told["data"]["session_id"] == done["session_id"]
        assert told["data"]["turn_id"] == done["turn_id"]
        assert told["data"]["status"] == "completed"
        assert told["data"]["usage"] == done["data"]["usage"]
        with pytest.raises(WebhookVerificationError):
            Webhook(webhook["secret"]).verify(body + b" ", headers)
        (delivery,) = await over(client, webhook)
        assert (delivery["id"], delivery["state"]) == (headers["webhook-id"], "delivered")
        assert (delivery["attempts"], delivery["status"]) == (1, 200)


@on_both_engines
async def test_a_call_that_waits_for_a_person_is_told(settings: Settings) -> None:
    """With what is needed to decide, and nothing of what the call would do."""
    outbox = Outbox()
    async with receiving() as receiver, running_gateway(quick(settings), *outbox.tools) as client:
        webhook = await added(client, receiver.url, "approval.waiting")
        asked = await ask(client, '/call send {"to": "李雷"}')

        told = await receiver.told(webhook["secret"])

        assert told["type"] == "approval.waiting"
        assert told["data"]["session_id"] == asked.session
        assert told["data"]["turn_id"] == asked.turn
        assert told["data"]["tool_call_id"] == asked.calls["send"]
        assert "arguments" not in told["data"]


async def test_a_schedule_that_fails_and_one_that_is_to_tell_are_told(settings: Settings) -> None:
    """The first because somebody wants to know of failures, the second whatever came of it, as its
    destination."""
    async with receiving() as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url, "schedule.failed")
        given = {"message": "/error 529", "every": 86_400}
        failing = (await client.post("/api/schedules", given)).json()
        given = {"message": "/say hi", "every": 86_400, "destination": f"webhook:{webhook['id']}"}
        telling = (await client.post("/api/schedules", given)).json()
        for schedule in (failing, telling):
            await client.post(f"/api/schedules/{schedule['id']}/run")

        told = {each["type"]: each["data"] for each in [await receiver.told(webhook["secret"]) for _ in "12"]}

        assert told["schedule.failed"]["schedule_id"] == failing["id"]
        assert told["schedule.failed"]["status"] == "failed"
        assert told["schedule.finished"]["schedule_id"] == telling["id"]
        assert told["schedule.finished"]["status"] == "completed"
        elsewhere = given | {"destination": "webhook:wh_0"}
        assert (await client.post("/api/schedules", elsewhere)).status_code == 404


async def test_a_result_for_a_webhook_that_is_off_is_listed_and_replayed(settings: Settings) -> None:
    """A schedule's owner sees that it did not arrive, and why; switched on again it can arrive."""
    async with receiving() as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url)
        path = f"/api/webhooks/{webhook['id']}"
        await client.http.patch(path, json={"enabled": False})
        given = {"message": "/say hi", "every": 86_400, "destination": f"webhook:{webhook['id']}"}
        schedule = (await client.post("/api/schedules", given)).json()
        await client.post(f"/api/schedules/{schedule['id']}/run")
        (dead,) = await over(client, webhook)
        assert (dead["type"], dead["state"]) == ("schedule.finished", "dead")
        assert (dead["attempts"], dead["error"]) == (0, "Its webhook was off.")

        await client.http.patch(path, json={"enabled": True})
        await client.post(f"{path}/replay")

        told = await receiver.told(webhook["secret"])
        assert (told["type"], told["id"]) == ("schedule.finished", dead["id"])
        assert told["data"]["schedule_id"] == schedule["id"]


async def test_a_model_gives_a_schedule_a_webhook_of_its_user_for_a_destination(settings: Settings) -> None:
    """By its id, once a person approved; one of nobody, or of another kind, makes no schedule."""
    async with receiving() as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url, "approval.waiting")
        right = {f"webhook:{webhook['id']}": "due"}
        wrong = {
            "webhook:wh_0": "There is no webhook wh_0.",
            "board:hall": "those there are here: webhook:….",
        }
        for destination, answer in (right | wrong).items():
            given = {"action": "create", "message": "/say hi", "every": 86_400, "destination": destination}
            asked = await ask(client, f"/call manage_schedule {json.dumps(given)}")
            before = (await client.get("/api/schedules")).json()["schedules"]
            assert len(before) == (destination in wrong)
            await asked.decide("approve", "manage_schedule")
            (result,) = [each for each in await asked.all_events() if each["type"] == "tool_result"]
            assert result["data"]["status"] == ("error" if destination in wrong else "ok")
            assert answer in result["data"]["content"]

        (schedule,) = (await client.get("/api/schedules")).json()["schedules"]
        assert schedule["destination"] == f"webhook:{webhook['id']}"


async def test_what_fails_is_tried_again_and_holds_up_its_session(settings: Settings) -> None:
    """The same message under the same id, until it arrives; then what happened next in the session."""
    async with (
        receiving("500 No", "503 No", "204 Yes") as receiver,
        running_gateway(quick(settings)) as client,
    ):
        webhook = await added(client, receiver.url)
        session = await client.session()
        turns = [(await client.chat("/say hi", session_id=session))[0]["turn_id"] for _ in range(2)]

        told = [await receiver.told(webhook["secret"]) for _ in range(4)]

        assert [each["data"]["turn_id"] for each in told] == [turns[0]] * 3 + [turns[1]]
        assert len({each["id"] for each in told}) == 2
        first, second = await over(client, webhook, 2)
        assert (first["attempts"], first["status"], second["attempts"]) == (3, 204, 1)


async def test_a_delivery_without_success_is_dead_and_can_be_replayed(settings: Settings) -> None:
    """It is listed with the reason. Replayed it has the same id: who had it before knows."""
    answers = ["500 No", "500 No", "500 No", "200 OK"]
    async with receiving(*answers) as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url)
        await client.chat("/say hi")
        (dead,) = await over(client, webhook)
        assert (dead["state"], dead["attempts"], dead["error"]) == ("dead", 3, "It answered 500.")
        path = f"/api/webhooks/{webhook['id']}"
        assert (await client.get(f"{path}/deliveries?state=delivered")).json() == {"deliveries": []}

        replayed = await client.post(f"{path}/replay")

        assert replayed.json() == {"replayed": 1}
        assert len({(await receiver.told(webhook["secret"]))["id"] for _ in range(4)}) == 1
        (delivered,) = await over(client, webhook)
        assert (delivered["id"], delivered["state"], delivered["attempts"]) == (dead["id"], "delivered", 1)
        again = await client.post(f"{path}/replay", {"delivery": dead["id"]})
        assert again.json() == {"replayed": 1}
        assert (await receiver.told(webhook["secret"]))["id"] == dead["id"]


@on_both_engines
async def test_what_cannot_be_delivered_is_dead_with_a_reason_and_holds_up_nobody(settings: Settings) -> None:
    """Rows of a turn that there is not, of no turn at all, and with details that are no JSON, due before the
    end of a turn of the same session: that is delivered, and the webhook did not fail."""
    async with receiving() as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url)
        session = await client.session()
        store = vars(client.app.state.gateway.webhooks)["_webhooks"]
        rows = [("t_gone", None), (None, None), ("t_gone", "{")]

        def poison(connection: Connection) -> None:
            for turn_id, detail in rows:
                row = {"webhook_id": webhook["id"], "session_id": session, "turn_id": turn_id}
                row |= {"type": "turn.finished", "at": now_ms(), "state": "pending", "attempts": 0}
                add = "INSERT INTO webhook_deliveries ({}, due_at, detail) VALUES ({}, 0, :detail)"
                names = ", ".join(row), ", ".join(f":{name}" for name in row)
                connection.execute(text(add.format(*names)), row | {"detail": detail})

        await store.database.write(poison)
        done = (await client.chat("hello", session_id=session))[-1]

        told = await receiver.told(webhook["secret"])

        assert told["data"]["turn_id"] == done["turn_id"]
        *dead, delivered = await over(client, webhook, len(rows) + 1)
        assert delivered["state"] == "delivered"
        assert {each["state"] for each in dead} == {"dead"}
        assert {each["attempts"] for each in dead} == {1}
        assert all(each["error"].startswith("Nothing can be delivered: ") for each in dead)
        (shown,) = (await client.get("/api/webhooks")).json()["webhooks"]
        assert shown["failures"] == 0


async def test_an_address_that_is_gone_is_told_nothing_more(settings: Settings) -> None:
    """410: the webhook is off, until its owner switches it on."""
    async with receiving("410 Gone", "200 OK") as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url)
        await client.chat("/say hi")
        (dead,) = await over(client, webhook)
        assert (dead["state"], dead["status"], dead["attempts"]) == ("dead", 410, 1)
        (listed,) = (await client.get("/api/webhooks")).json()["webhooks"]
        assert "disabled_at" in listed
        await client.chat("/say nobody is told")

        path = f"/api/webhooks/{webhook['id']}"
        assert (await client.http.patch(path, json={"enabled": True})).status_code == 200
        turn = (await client.chat("/say hi"))[0]["turn_id"]

        await receiver.next()
        assert (await receiver.told(webhook["secret"]))["data"]["turn_id"] == turn
        assert len(await over(client, webhook, 2)) == 2


async def test_a_redirect_is_followed_by_nobody(settings: Settings) -> None:
    """Not even to an address that is allowed."""
    async with receiving() as inside:
        moved = f"307 Temporary Redirect\nlocation: {inside.url}"
        async with (
            receiving(moved) as receiver,
            running_gateway(quick(settings, webhook_retries=())) as client,
        ):
            webhook = await added(client, receiver.url)
            await client.chat("/say hi")

            (dead,) = await over(client, webhook)

            assert dead["error"] == "It answered 307, a redirect, which is not followed."
            assert inside.posts.empty()


async def test_an_address_that_stalls_keeps_nobody_waiting(settings: Settings) -> None:
    """It has a few connections; other webhooks are told of each turn meanwhile, and so is its own next
    session."""
    async with receiving(STALL) as stalls, receiving() as works, running_gateway(quick(settings)) as client:
        await added(client, stalls.url)
        webhook = await added(client, works.url)
        turns = {(await client.chat("/say hi"))[0]["turn_id"] for _ in range(MAX_OF_WEBHOOK + 2)}

        told = [await works.told(webhook["secret"]) for _ in turns]

        assert {each["data"]["turn_id"] for each in told} == turns
        assert 0 < stalls.most_open <= MAX_OF_WEBHOOK


async def test_no_answer_in_time_is_a_failure(settings: Settings) -> None:
    given = quick(settings, webhook_timeout=0.2, webhook_retries=())
    async with receiving(STALL) as receiver, running_gateway(given) as client:
        webhook = await added(client, receiver.url)
        await client.chat("/say hi")

        (dead,) = await over(client, webhook)

        assert (dead["state"], dead["error"]) == ("dead", "No answer within 0.2 seconds.")
        tested = (await client.post(f"/api/webhooks/{webhook['id']}/test")).json()
        assert (tested["delivered"], tested["error"]) == (False, "No answer within 0.2 seconds.")


async def test_a_test_is_posted_at_once(settings: Settings) -> None:
    """Signed as all that follows; nothing of it is listed."""
    async with receiving("202 Accepted") as receiver, running_gateway(quick(settings)) as client:
        webhook = await added(client, receiver.url)

        tested = (await client.post(f"/api/webhooks/{webhook['id']}/test")).json()

        assert (tested["delivered"], tested["status"]) == (True, 202)
        told = await receiver.told(webhook["secret"])
        assert (told["type"], told["data"]) == ("webhook.test", {"webhook_id": webhook["id"]})
        assert (await client.get(f"/api/webhooks/{webhook['id']}/deliveries")).json() == {"deliveries": []}


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://10.0.0.5/",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/",
        "https://2130706433/",
        "https://[::ffff:127.0.0.1]/",
        "https://user:password@hooks.example.com/",
        "https://hooks.example.com:80/",
        "https://hooks.example.com:8443/",
        "ftp://hooks.example.com/",
        "hooks.example.com",
    ],
)
async def test_only_addresses_of_the_public_web_are_taken(client: Client, url: str) -> None:
    refused = await client.post("/api/webhooks", {"url": url})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "webhook_url_refused")


async def test_a_webhook_is_its_owners_and_its_secret_is_told_once(settings: Settings) -> None:
    keys = SecretStr("ann:an-anns-secret-key,bob:a-bobs-secret-key")
    given = {"api_keys": keys, "max_webhooks": 1}
    async with running_gateway(settings.model_copy(update=given)) as client:
        ann, bob = ({"x-api-key": key} for key in ("an-anns-secret-key", "a-bobs-secret-key"))
        made = await client.post("/api/webhooks", {"url": "https://hooks.example.com/"}, **ann)
        webhook = made.json()
        path = f"/api/webhooks/{webhook['id']}"
        assert webhook.pop("secret").startswith("whsec_")
        assert (await client.get(path, **ann)).json() == webhook
        assert (await client.get("/api/webhooks", **ann)).json() == {"webhooks": [webhook]}
        assert (await client.get("/api/webhooks", **bob)).json() == {"webhooks": []}
        full = await client.post("/api/webhooks", {"url": "https://hooks.example.com/2"}, **ann)
        assert (full.status_code, full.json()["error"]["code"]) == (409, "too_many_webhooks")

        for refused in (
            await client.get(path, **bob),
            await client.get(f"{path}/deliveries", **bob),
            await client.post(f"{path}/replay", **bob),
            await client.post(f"{path}/test", **bob),
            await client.http.patch(path, json={"enabled": False}, headers=bob),
            await client.http.delete(path, headers=bob),
        ):
            assert (refused.status_code, refused.json()["error"]["code"]) == (404, "webhook_not_found")
        missing = await client.post(f"{path}/replay", {"delivery": "msg_0_1"}, **ann)
        assert (missing.status_code, missing.json()["error"]["code"]) == (404, "delivery_not_found")
        assert (await client.http.delete(path, headers=ann)).status_code == 204
        assert (await client.get("/api/webhooks", **ann)).json() == {"webhooks": []}
