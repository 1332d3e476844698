"""The Agent2Agent protocol: the official client, unmodified."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client import Client as A2aClient
from a2a.client.errors import A2AClientError
from a2a.types.a2a_pb2 import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from pydantic import SecretStr

from tests.adapters.test_a2a_frames import applied
from tests.artifacts.files import png
from tests.clients.programs import run_documented_python
from tests.conftest import ROOT
from tests.harness import TIMEOUT, Client, running_gateway, text_of, the, types
from tests.product import Settings
from tests.stories.asking import Outbox

pytestmark = pytest.mark.anyio

QUESTION = "How do I resume a stream? And what is 17*23?"
SEND = '/say Let me.\n/call send {"to": "李雷"}\n/then\n/say over'
State = TaskState.Name


@asynccontextmanager
async def agent(client: Client, key: str = "", *, streaming: bool = True) -> AsyncGenerator[A2aClient]:
    """The client, as it finds the agent by its card."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(headers=headers, timeout=TIMEOUT, trust_env=False) as http:
        card = await A2ACardResolver(http, client.url).get_agent_card()
        found = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming)).create(card)
        yield found


def message(
    text: str = "", *, task: str = "", context: str = "", data: Any = None, name: str = "", **how: Any
) -> SendMessageRequest:
    parts = [Part(text=text)] if text else [ParseDict({"data": data}, Part())]
    said = Message(
        message_id=name or str(uuid4()), role=Role.ROLE_USER, parts=parts, task_id=task, context_id=context
    )
    return SendMessageRequest(message=said, configuration=SendMessageConfiguration(**how))


async def told(stream: AsyncIterator[StreamResponse]) -> list[StreamResponse]:
    async with asyncio.timeout(TIMEOUT):
        return [update async for update in stream]


async def whole(found: A2aClient, request: SendMessageRequest) -> Task:
    (answer,) = await told(found.send_message(request))
    return answer.task


def states(updates: list[StreamResponse]) -> list[str]:
    """In words, each once in a row."""
    got = [
        each.task.status.state if each.HasField("task") else each.status_update.status.state
        for each in updates
        if each.HasField("task") or each.HasField("status_update")
    ]
    names = [State(state).removeprefix("TASK_STATE_") for state in got]
    return [name for name, before in zip(names, ["", *names], strict=False) if name != before]


def data_of(updates: list[StreamResponse]) -> list[Any]:
    parts = [part for each in updates for part in each.status_update.status.message.parts]
    return [MessageToDict(part)["data"] for part in parts if part.HasField("data")]


async def test_a_turn_with_tools_is_a_task(client: Client) -> None:
    """Its text is an artifact, its calls and what was found are data; as a stream and whole it is the same,
    and a context is a session."""
    async with agent(client) as found:
        updates = await told(found.send_message(message(QUESTION, context="c-1")))
        got = await found.get_task(GetTaskRequest(id=updates[0].task.id))
    async with agent(client, streaming=False) as found:
        second = await whole(found, message("/think hm\n/say more", context="c-1"))

    events = await client.events("c-1")
    first = [event for event in events if event["turn_id"] == updates[0].task.id]
    assert states(updates) == ["SUBMITTED", "WORKING", "COMPLETED"]
    assert applied(updates)["answer"].replace("\n\n", "") == text_of(first).replace("\n\n", "")
    assert [part.text for part in got.artifacts[0].parts] == [applied(updates)["answer"]]
    kinds = [each["type"] for each in data_of(updates)]
    assert {"tool_call", "tool_result", "retrieval"} <= {*kinds}
    results = [each["content"] for each in data_of(updates) if each["type"] == "tool_result"]
    assert "391" in results
    assert got.history[0].parts[0].text == QUESTION
    spent = MessageToDict(got.metadata)["gateway"]["usage"]
    assert spent == the(first, "done")["usage"]
    assert (second.context_id, State(second.status.state)) == ("c-1", "TASK_STATE_COMPLETED")
    assert [part.text for each in second.artifacts for part in each.parts] == ["more"]
    assert len([event for event in events if event["type"] == "turn_start"]) == 2
    assert first[0]["data"]["dialect"] == "a2a"
    assert "thinking" in types(events)


@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval_is_input_that_a_task_requires(settings: Settings, approved: bool) -> None:
    """A message to the task answers it with data; words do not. The stream of the answer goes on where the
    task waited, and what was said before is in the task that it begins with."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client, agent(client) as found:
        updates = await told(found.send_message(message(SEND)))
        task = updates[0].task
        got = await found.get_task(GetTaskRequest(id=task.id))
        with pytest.raises(InvalidParamsError, match="no decision"):
            await told(found.send_message(message("yes", task=task.id)))
        with pytest.raises(UnsupportedOperationError):
            await told(found.send_message(message("/say other", context=task.context_id)))
        (asked,) = data_of(updates)[-1]["approvals"]
        decided = {"approvals": [{"id": asked["id"], "approved": approved, "reason": "not him"}]}
        rest = await told(found.send_message(message(task=task.id, data=decided)))
        events = await client.events(task.context_id)

    assert (states(updates)[-1], State(got.status.state)) == ("INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED")
    assert (asked["name"], asked["arguments"]) == ("send", {"to": "李雷"})
    assert [part.text for part in rest[0].task.artifacts[0].parts] == ["Let me."]
    assert states(rest) == ["WORKING", "COMPLETED"]
    assert "".join(part.text for each in rest for part in each.artifact_update.artifact.parts) == "\n\nover"
    assert outbox.sent == (["李雷"] if approved else [])
    assert the(events, "approval_response")["decision"] == ("approved" if approved else "denied")


async def test_a_client_that_goes_comes_back_to_the_task(client: Client) -> None:
    """Its leaving stops nothing; two that subscribe are told the task as it is, and the same rest. Cancelled
    it ends for both."""
    async with agent(client) as found, agent(client) as other:
        stream = found.send_message(message("/pieces 4000\n/pace 25"))
        updates = [await anext(stream)]
        while not updates[-1].HasField("artifact_update"):
            updates.append(await anext(stream))
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue] - a generator
        task = updates[0].task.id
        readers = [each.subscribe(SubscribeToTaskRequest(id=task)) for each in (found, other)]
        firsts = [await anext(reader) for reader in readers]
        cancelled = await found.cancel_task(CancelTaskRequest(id=task))
        rests = [await told(reader) for reader in readers]
        with pytest.raises(TaskNotCancelableError):
            await found.cancel_task(CancelTaskRequest(id=task))
        with pytest.raises(UnsupportedOperationError):
            await told(found.subscribe(SubscribeToTaskRequest(id=task)))
        got = await found.get_task(GetTaskRequest(id=task, history_length=0))

    assert State(cancelled.status.state) == State(got.status.state) == "TASK_STATE_CANCELED"
    said = "".join(part.text for part in got.artifacts[0].parts)
    for first, rest in zip(firsts, rests, strict=True):
        assert State(first.task.status.state) == "TASK_STATE_WORKING"
        assert applied([artifact_of(first), *rest])["answer"] == said
        assert states(rest) == ["CANCELED"]
    assert list(got.history) == []


def artifact_of(first: StreamResponse) -> StreamResponse:
    update = StreamResponse()
    if first.task.artifacts:
        update.artifact_update.artifact.CopyFrom(first.task.artifacts[0])
    return update


async def test_files_of_a_message_are_attachments(client: Client) -> None:
    """As bytes, and by the address of one that is here; the task's history has them by their addresses, with
    what the model gets of each."""
    async with agent(client, streaming=False) as found:
        first = message("/say seen", context="c-3")
        photo = Part(raw=png(4, 3), filename="照片.png", media_type="image/png")
        first.message.parts.append(photo)
        task = await whole(found, first)
        (shown,) = [part for part in task.history[0].parts if part.url]
        second = message("/say again", context="c-3")
        second.message.parts.append(Part(url=shown.url))
        await whole(found, second)

    turns = [event["data"] for event in await client.events("c-3") if event["type"] == "turn_start"]
    (one,), (other,) = (turn["attachments"] for turn in turns)
    assert (one["name"], one["mime"], other["ref"]) == ("照片.png", "image/png", one["ref"])
    assert (shown.filename, shown.media_type) == ("照片.png", "image/png")
    assert MessageToDict(shown.metadata) == {"gateway": {"reading": one["reading"]}}
    assert (await client.get(shown.url.removeprefix(client.url))).content == png(4, 3)


async def test_a_message_that_is_repeated_is_the_same_task(client: Client) -> None:
    """By its id. At once, where the client does not wait; behind another of its context it is submitted."""
    async with agent(client, streaming=False) as found:
        slow = await whole(found, message("/pieces 400\n/pace 25", context="c-2", return_immediately=True))
        next_one = await whole(
            found, message("/say next", context="c-2", name="m-1", return_immediately=True)
        )
        assert State(next_one.status.state) == "TASK_STATE_SUBMITTED"
        await found.cancel_task(CancelTaskRequest(id=slow.id))
        again = await whole(found, message("/say next", context="c-2", name="m-1"))

    assert again.id == next_one.id != slow.id
    assert (again.artifacts[0].parts[0].text, again.history[0].message_id) == ("next", "m-1")


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_turn_that_fails_is_a_task_that_failed(client: Client, streaming: bool) -> None:
    """What was said before is kept."""
    async with agent(client, streaming=streaming) as found:
        *_, last = await told(found.send_message(message("/say half\n/fault no_message_stop")))
        status = last.status_update.status if streaming else last.task.status

    assert State(status.state) == "TASK_STATE_FAILED"
    assert status.message.parts[0].text.startswith("upstream")


async def test_refusals_are_errors_of_the_protocol(client: Client) -> None:
    async with agent(client) as found:
        with pytest.raises(TaskNotFoundError) as missing:
            await found.get_task(GetTaskRequest(id="t_none"))
        with pytest.raises(TaskNotFoundError):
            await found.get_task(GetTaskRequest(id="\0"))
        with pytest.raises(InvalidParamsError, match="UUID"):
            await told(found.send_message(message("hi", context="my context!")))
        with pytest.raises(InvalidParamsError, match="text"):
            await told(found.send_message(SendMessageRequest(message=Message(message_id="m"))))
        task = (await told(found.send_message(message("/say hi"))))[0].task
        with pytest.raises(UnsupportedOperationError, match="without its taskId"):
            await told(found.send_message(message("more", task=task.id)))
        tool = {"name": "page_title", "input_schema": {"type": "object"}}
        asked = {"messages": [{"role": "user", "content": "/call page_title {}"}], "tools": [tool]}
        waiting = (await client.post("/v1/messages", asked)).headers["x-session-id"]
        async with asyncio.timeout(TIMEOUT):
            while not (await client.get("/api/turns?status=awaiting_tool_result")).json()["turns"]:
                await asyncio.sleep(0.01)
        with pytest.raises(UnsupportedOperationError, match="is answering"):  # and does not wait behind it
            await told(found.send_message(message("more", context=waiting)))
    assert missing.value.data == {"code": "turn_not_found", "retryable": "false"}

    async def code(method: Any, **headers: str) -> int:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {}}
        answer = (await client.post("/a2a", body, **headers)).json()
        assert answer["id"] == 7
        return answer["error"]["code"]

    old = {"a2a-version": "0.3"}
    assert await code("message/send") == -32601
    assert await code("SendMessage") == -32602
    assert await code("CreateTaskPushNotificationConfig") == -32003
    assert await code("GetExtendedAgentCard") == -32007
    assert await code("SendMessage", **old) == -32009
    broken = await client.http.post("/a2a", content=b"{", headers={"content-type": "application/json"})
    assert (broken.status_code, broken.json()["id"]) == (400, None)
    named = {"jsonrpc": "2.0", "id": "x" * 257, "method": "SendStreamingMessage"}
    assert (await client.post("/a2a", named)).status_code == 400  # each event would have it


async def test_each_key_has_its_own_tasks(settings: Settings) -> None:
    """The card is there for everybody, and says that a key is needed."""
    ada, ben = "k-ada-0123456789abcdef", "k-ben-0123456789abcdef"
    locked = Settings.model_validate({**settings.model_dump(), "api_keys": f"ada:{ada},ben:{ben}"})
    async with running_gateway(locked) as client:
        card = (await client.get("/.well-known/agent-card.json")).json()
        async with agent(client, ada) as found:
            task = (await told(found.send_message(message("/say mine"))))[0].task.id
        async with agent(client, ben) as found:
            with pytest.raises(TaskNotFoundError):
                await found.get_task(GetTaskRequest(id=task))
        async with agent(client) as found:
            with pytest.raises(A2AClientError, match="401"):
                await found.get_task(GetTaskRequest(id=task))

    assert card["securitySchemes"]["key"]["httpAuthSecurityScheme"]["scheme"] == "bearer"
    assert card["supportedInterfaces"][0]["url"] == f"{client.url}/a2a"


async def test_the_card_and_links_name_no_host_that_is_not_ours(settings: Settings) -> None:
    """The page's address of the settings, else a host that is allowed, else the one that was connected to:
    who makes a request says nothing of where others go."""
    keyed = {"api_keys": SecretStr("ada:k-ada-0123456789abcdef")}

    async def named(host: str, **given: Any) -> tuple[str, str]:
        async with running_gateway(settings.model_copy(update=keyed | given)) as client:
            own = {"host": host, "x-forwarded-host": "evil.test", "forwarded": "host=evil.test"}
            card = (await client.get("/.well-known/agent-card.json", **own)).json()
            turn = {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": "/say hi"}]}
            call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": turn}}
            key = {"x-api-key": "k-ada-0123456789abcdef"}
            answer = (await client.post("/a2a", call, **own, **key)).text
            assert "evil" not in answer
            return card["supportedInterfaces"][0]["url"].replace(client.url, "HERE"), answer

    for host in ("evil.test", "evil.test:80", "user@127.0.0.1", "127.0.0.1.evil.test", "[::1].evil.test"):
        assert (await named(host))[0] == "HERE/a2a", host
    assert (await named("chat.test", allowed_hosts=("chat.test",)))[0] == "http://chat.test/a2a"
    for host in ("evil.test", "chat.test"):
        found = await named(host, page_url="https://chat.example.org")
        assert found[0] == "https://chat.example.org/a2a"


async def test_the_card_says_of_every_way_in_that_it_is_there(settings: Settings) -> None:
    """A key, whether in the settings or stored; a token of the identity provider. Without accounts none."""
    oidc = {"oidc_issuer": "https://login.example.org/realms/home", "oidc_audience": ("gateway",)}
    proxy = {"trusted_proxies": ("10.1.0.7",)}
    for given, schemes in (({}, None), (oidc, ["key", "token"]), (proxy, ["key"])):
        async with running_gateway(settings.model_copy(update=given)) as client:
            card = (await client.get("/.well-known/agent-card.json")).json()
            parsed = ParseDict(card, AgentCard())
        assert list(card.get("securitySchemes", {})) == (schemes or [])
        assert [list(each["schemes"]) for each in card.get("securityRequirements", [])] == [
            [name] for name in schemes or []
        ]
        if schemes == ["key", "token"]:
            url = parsed.security_schemes["token"].open_id_connect_security_scheme.open_id_connect_url
            assert url == "https://login.example.org/realms/home/.well-known/openid-configuration"


async def test_the_client_of_the_documentation_runs_as_it_stands(client: Client) -> None:
    printed = await run_documented_python(ROOT / "docs" / "a2a.md", GATEWAY_URL=client.url)

    assert "tool_call" in printed
    assert "391" in printed
    assert orjson.loads(printed.splitlines()[-1])["state"] == "TASK_STATE_COMPLETED"
