"""The gateway as an MCP server: the official client, unmodified, of today and as it was before 2026."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from mcp import Client as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent, TextResourceContents

from gateway.adapters.mcp import mcp_chat_tool, mcp_resources
from gateway.demo.demo_tools import demo_tools
from tests.clients.programs import run_documented_python
from tests.conftest import ROOT
from tests.harness import TIMEOUT, Client, running_gateway, text_of, the, types
from tests.product import Settings
from tests.running import clean_environment
from tests.stories.asking import Outbox
from tests.stories.test_released import end_of

pytestmark = pytest.mark.anyio

QUESTION = "How do I resume a stream? And what is 17*23?"
SEND = '/say Let me.\n/call send {"to": "李雷"}\n/then\n/say over'
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])


@asynccontextmanager
async def mcp(client: Client, key: str | None = None, **options: Any) -> AsyncGenerator[McpClient]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, trust_env=False) as http,
        McpClient(streamable_http_client(f"{client.url}/mcp", http_client=http), **options) as found,
    ):
        yield found


async def said(found: McpClient, message: str | None = None, session: str | None = None, **more: Any) -> Any:
    """The structured content of an answer; its text is the result's one text, too."""
    given = {"message": message, "session_id": session}
    arguments = {name: value for name, value in given.items() if value is not None}
    async with asyncio.timeout(TIMEOUT):
        result = await found.call_tool("chat", arguments, **more)
    assert result.structured_content is not None, result.content
    assert text(result) == result.structured_content["text"]
    assert result.is_error is (result.structured_content["status"] == "failed")
    return result.structured_content


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@ERAS
async def test_a_turn_with_tools_is_one_call(client: Client, era: Any) -> None:
    """Its text is that of the log; what comes of it is told meanwhile, the calls by their names. It goes on
    in its session without what was thought, and a session that nobody has is refused."""
    told: list[str] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        assert (total, progress) == (None, len(told) + 1)
        told.append(message or "")

    async with mcp(client, mode=era) as found:
        assert [tool.name for tool in (await found.list_tools()).tools] == ["chat", "manage_memory"]
        answer = await said(found, QUESTION, progress_callback=heard)
        again = await said(found, "/think hm\n/say more", answer["session_id"])
        newest = await said(found, session=answer["session_id"])
        refused = await found.call_tool("chat", {"message": "hi", "session_id": "s_none"})
        empty = [await found.call_tool("chat", {"message": each}) for each in (" ", "a\0b")]

    events = await client.events(answer["session_id"])
    first = [event for event in events if event["turn_id"] == answer["turn_id"]]
    assert answer["text"].replace("\n\n", "") == text_of(first).replace("\n\n", "")
    assert answer["status"] == "completed"
    assert "calculate …" in "".join(told)
    assert "calculate: ok" in "".join(told)
    assert "tool_result" in types(events)
    assert (again["session_id"], again["text"]) == (answer["session_id"], "more")
    assert newest == again
    assert (refused.is_error, "session_not_found" in text(refused)) == (True, True)
    assert ["invalid_request" in text(each) for each in empty] == [True, True]


@pytest.mark.parametrize("action", ["accept", "refuse", "decline", "cancel"])
async def test_an_approval_is_asked_for_in_the_client(settings: Settings, action: str) -> None:
    """As a form, which its user answers: a decline is none, and who closes it has not decided."""
    outbox, asked = Outbox(), list[str]()

    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        if action in {"decline", "cancel"}:
            return ElicitResult(action="decline" if action == "decline" else "cancel")
        return ElicitResult(action="accept", content={"approve": action == "accept", "reason": "not him"})

    async with (
        running_gateway(settings, *outbox.tools) as client,
        mcp(client, elicitation_callback=answer) as found,
    ):
        told = await said(found, SEND)
        events = await client.events(told["session_id"])

    assert asked == ['May send {"to":"李雷"} be called? (It has effects.)']
    assert outbox.sent == (["李雷"] if action == "accept" else [])
    if action == "cancel":
        assert told["status"] == "awaiting_approval"
        return
    assert (told["status"], told["text"]) == ("completed", "Let me.\n\nover")
    assert the(events, "approval_response")["decision"] == ("approved" if action == "accept" else "denied")


@ERAS
async def test_a_client_that_cannot_ask_is_told_what_waits(settings: Settings, era: Any) -> None:
    """And where it is decided; then the rest is there for the asking."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client, mcp(client, mode=era) as found:
        told = await said(found, SEND)
        session, turn = told["session_id"], told["turn_id"]
        (call,) = [each for each in await client.events(session) if each["type"] == "tool_call"]
        path = f"/api/sessions/{session}/turns/{turn}/approvals/{call['tool_call_id']}"
        assert (await client.post(path, {"decision": "approve"})).status_code == 200
        rest = await said(found, session=session)

    assert told["status"] == "awaiting_approval"
    assert f'approval of send {{"to":"李雷"}}. They decide at {client.url}/#s={session}.' in told["text"]
    assert (rest["turn_id"], rest["text"], rest["status"]) == (turn, "Let me.\n\nover", "completed")
    assert outbox.sent == ["李雷"]


@ERAS
async def test_a_call_that_is_cancelled_ends_its_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch, era: Any
) -> None:
    """What was written is kept."""
    monkeypatch.setattr(mcp_chat_tool, "GRACE", 0.05)
    begun = asyncio.Event()

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    async with mcp(client, mode=era) as found:
        call = asyncio.create_task(
            found.call_tool("chat", {"message": "/pieces 4000\n/pace 25"}, progress_callback=heard)
        )
        async with asyncio.timeout(TIMEOUT):
            await begun.wait()
        call.cancel()
        await asyncio.wait({call})

    (turn,) = (await client.get("/api/turns")).json()["turns"]
    assert await end_of(client, turn["session_id"], turn["turn_id"]) == "cancelled"


async def test_a_question_says_what_of_its_arguments_it_does_not_show(settings: Settings) -> None:
    """And where the rest is: nobody allows what they have not seen without being told so."""
    asked = list[str]()

    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": False})

    send = "/call send " + orjson.dumps({"to": "a" * 5000}).decode() + "\n/then\n/say over"
    async with (
        running_gateway(settings, *Outbox().tools) as client,
        mcp(client, elicitation_callback=answer) as found,
    ):
        told = await said(found, send)

    missing = len(orjson.dumps({"to": "a" * 5000})) - 2000
    page = f"{client.url}/#s={told['session_id']}"
    assert f"… cut: {missing} characters more, see {page} be called?" in asked[0]


async def test_a_turn_that_fails_is_a_result_in_words(client: Client) -> None:
    """Also where something was said before; the session is named, so that the client may go on."""
    async with mcp(client) as found:
        told = await said(found, "/say half\n/fault no_message_stop")

    assert told["status"] == "failed"
    assert "upstream" in told["text"]


async def test_a_call_that_is_repeated_under_its_key_begins_one_turn(client: Client) -> None:
    meta: Any = {"chat-gateway/idempotency-key": "t_1:toolu_1"}
    async with mcp(client) as found:
        first = await said(found, "/say once", meta=meta)
        second = await said(found, "/say once", meta=meta)

    assert first == second
    assert len((await client.get("/api/turns")).json()["turns"]) == 1


async def test_what_is_remembered_and_was_said_are_resources(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pages; each is its user's. Of a long session there is the end."""
    async with mcp(client) as found:
        saved = await found.call_tool("manage_memory", {"action": "save", "content": "喜欢喝茶"})
        session = (await said(found, "/say 你好"))["session_id"]
        listed = [each for page in await pages(found) for each in page]
        memory, chat = [each.uri for each in listed]
        remembered = orjson.loads(await read(found, memory))
        spoken = await read(found, chat)
        for _ in range(2):
            await said(found, "/say again", session)
        monkeypatch.setattr(mcp_resources, "MAX_SESSION", 10)
        end = await read(found, chat)
        templates = (await found.list_resource_templates()).resource_templates
        for uri in ("session:///s_none", "memory:///m_none", "file:///etc/passwd", "session:///../x"):
            with pytest.raises(MCPError):
                await read(found, uri)

    assert "Remembered as" in text(saved)
    assert (remembered["content"], chat) == ("喜欢喝茶", f"session:///{session}")
    assert spoken == "## User\n\n/say 你好\n\n## Assistant\n\n你好"
    assert end == "…ant\n\nagain"
    assert len(templates) == 2


async def pages(found: McpClient) -> list[list[Any]]:
    got: list[list[Any]] = []
    cursor = None
    while True:
        page = await found.list_resources(cursor=cursor)
        got.append(page.resources)
        if (cursor := page.next_cursor) is None:
            return got


async def read(found: McpClient, uri: str) -> str:
    (content,) = (await found.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def test_the_list_comes_in_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories first, then sessions; nothing is missing, nothing is told twice."""
    monkeypatch.setattr(mcp_resources, "ROWS", 2)
    for _ in range(3):
        await client.session()
    async with mcp(client) as found:
        for drink in ("茶", "咖啡", "水"):
            await found.call_tool("manage_memory", {"action": "save", "content": f"喜欢喝{drink}"})
        got = await pages(found)
        with pytest.raises(MCPError):
            await found.list_resources(cursor="session:///x")

    names = [each.uri for page in got for each in page]
    assert [name[:10] for name in names] == ["memory:///"] * 3 + ["session://"] * 3
    assert len(set(names)) == 6


async def test_each_key_has_its_own(settings: Settings) -> None:
    """Turns are their owner's. Without a key nothing is answered, in words of JSON-RPC."""
    ada, ben = "k-ada-0123456789abcdef", "k-ben-0123456789abcdef"
    locked = Settings.model_validate({**settings.model_dump(), "api_keys": f"ada:{ada},ben:{ben}"})
    async with running_gateway(locked) as client:
        async with mcp(client, ada) as found:
            told = await said(found, "/say mine")
        async with mcp(client, ben) as found:
            refused = await found.call_tool("chat", {"session_id": told["session_id"]})
            assert (refused.is_error, "session_not_found" in text(refused)) == (True, True)
            assert [page for page in await pages(found) if page] == []
        answer = await client.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert answer.status_code == 401
    assert (answer.json()["error"]["data"]["code"], answer.json()["id"]) == ("unauthorized", None)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"jsonrpc":"2.0","id":1}', b'{"id":1,"method":"x"}'])
async def test_what_is_no_message_is_refused(client: Client, body: bytes) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    answer = await client.http.post("/mcp", content=body, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] < -32000
    assert (await client.http.get("/mcp")).status_code == 405


async def test_a_client_that_starts_a_program_has_the_same_over_stdio(
    settings: Settings, tmp_path: Path, program: str
) -> None:
    """`gateway mcp --url` passes it on, the questions too, in the words of the client's version. The turn
    runs in the gateway, and a call that is cancelled ends it there."""
    outbox, begun = Outbox(), asyncio.Event()

    async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"approve": True})

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    async with running_gateway(settings, *outbox.tools) as client:
        folder = tmp_path / "client"
        folder.mkdir()
        parameters = StdioServerParameters(
            command=program, args=["mcp", "--url", client.url], env=clean_environment(), cwd=folder
        )
        with (tmp_path / "stderr.txt").open("a") as errors:
            over = stdio_client(parameters, errors)
            async with McpClient(over, mode="legacy", elicitation_callback=answer) as found:
                names = [tool.name for tool in (await found.list_tools()).tools]
                told = await said(found, SEND)
                spoken = await read(found, f"session:///{told['session_id']}")
                long = found.call_tool("chat", {"message": "/pieces 4000\n/pace 25"}, progress_callback=heard)
                call = asyncio.create_task(long)
                async with asyncio.timeout(TIMEOUT):
                    await begun.wait()
                call.cancel()
                await asyncio.wait({call})
                newest = (await client.get("/api/turns")).json()["turns"][0]
                assert await end_of(client, newest["session_id"], newest["turn_id"]) == "cancelled"

    assert names == ["chat", "manage_memory"]
    assert (told["status"], outbox.sent) == ("completed", ["李雷"])
    assert spoken.endswith("over")
    assert (tmp_path / "stderr.txt").read_text() == ""
    assert list(folder.iterdir()) == []


async def test_the_client_of_the_documentation_runs_as_it_stands(settings: Settings) -> None:
    """Two messages of one session, and an approval."""
    page = ROOT / "docs" / "mcp-server.md"
    async with running_gateway(settings, *demo_tools(settings.data_dir)) as client:
        printed = await run_documented_python(page, GATEWAY_URL=client.url)

    assert printed.count("completed") == 2
    assert "allowed: May write_note " in printed
    assert "391" in printed
    assert "session:///s_" in printed
