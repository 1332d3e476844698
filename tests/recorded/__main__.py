"""`python -m tests.recorded [NAME …]`: has a gateway with the demo model live through what the recorded
sessions are about, and keeps what it streamed."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gateway.demo.demo_tools import demo_tools
from gateway.demo.server import serve_demo
from gateway.tools.function import Progress, tool
from gateway.tools.progress import INTERVAL
from tests.harness import Client, running_gateway, settings_for
from tests.loopback import TIMEOUT
from tests.recorded import keep

LONG = "/pace 20\n/pieces 400"
ANSWER = """## 结果 Results

A *slanted* and a **strong** word, `code`, a [link](https://example.org/), **重点。**然后 a note[^1].

1. one
2. two
   - [x] done
   - [ ] open

| left | 右 |
|:-----|---:|
| a | 1,000 |

```python
def area(radius: float) -> float:
    return 3.14159 * radius**2
```

$$\\int_0^1 x^2 \\,dx = \\frac{1}{3}$$

> سلام دنیا، این یک پاسخ است.

[^1]: The note."""


def _in_pieces(text: str, size: int = 5) -> list[str]:
    """What the demo model is told so that it says that in pieces of so many characters."""
    block: dict[str, object] = {"index": 0}
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [
        {"type": "content_block_start", **block, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", **block, "delta": {"type": "text_delta", "text": each}}
            for each in pieces
        ),
        {"type": "content_block_stop", **block},
    ]
    return ["/pace 10", *(f"/raw {json.dumps(each)}" for each in events), "/stop end_turn"]


EVERYTHING = "\n".join(
    (
        "/think I know the style. 先看文档。",
        "/say I look it up, 我先查一下:",
        '/call search_docs {"query": "resume a stream"}',
        '/call calculate {"expression": "6*7"}',
        '/call calculate {"expression": "1/0"}',
        "/then\n/fault reset_mid_stream once\n/say This was not all of the answer, and so it is withdrawn.",
        '/call count {"to": 3}',
        '/call sample_orders {"count": 300}',
        '/then\n/say I note it.\n/call write_note {"text": "one"}',
        '/then\n/say And where?\n/call locate {"exact": true}\n/then',
        *_in_pieces(ANSWER),
    )
)
LOCATE = {
    "name": "locate",
    "description": "Tells where the user is.",
    "input_schema": {"type": "object", "properties": {"exact": {"type": "boolean"}}},
}


async def text(client: Client, session: str) -> None:
    """Answers in two languages, thinking, digits that no double holds."""
    await _say(client, session, "hello")
    await _say(client, session, "/think Six times seven.\n/say **42**\n/say - 一\n/say - 二 👩‍🚀")


async def tools(client: Client, session: str) -> None:
    """Calls side by side, one after the other, one that fails, one that tells its progress."""
    await _say(client, session, "How do I resume a stream? And what is 17*23?")
    await _say(
        client,
        session,
        '/say First.\n/call calculate {"expression": "6*7"}\n/call calculate {"expression": "1/0"}\n'
        '/then\n/say Then.\n/call count {"to": 9007199254740993}\n/then\n/say Done.',
    )


async def approval(client: Client, session: str) -> None:
    """Approved, denied with a reason, approved with other arguments, allowed for the session, not asked."""
    note = '/say I note it.\n/call write_note {"text": "one"}\n/then\n/say Over.'
    for decision in (
        {"decision": "approve"},
        {"decision": "deny", "reason": "先别写"},
        {"decision": "approve", "arguments": {"text": "two"}},
        {"decision": "approve", "scope": "session"},
    ):
        turn = await client.begin(session, note)
        event = await _until(client, session, turn, "approval_request")
        await _until_status(client, session, turn, "awaiting_approval")
        path = f"/api/sessions/{session}/turns/{turn['turn_id']}/approvals/{event['tool_call_id']}"
        assert (await client.post(path, decision)).status_code == 200
        await _until(client, session, turn, "done")
    await _say(client, session, note)


async def superseded(client: Client, session: str) -> None:
    """An attempt that broke off in its text, another one in its thinking; then what holds."""
    await _say(client, session, "/fault reset_mid_stream once\n/say This is the answer, all of it.")
    await _say(client, session, "/fault clean_truncation once\n/think Let me see.\n/say Seen.")


async def compression(client: Client, session: str) -> None:
    """By hand, after some turns; and what was asked afterwards."""
    for number in range(6):
        await _say(client, session, f"/burst\n/say Note {number}. {'It is long. ' * 100}")
    assert (await client.post(f"/api/sessions/{session}/compress")).status_code == 201
    await _say(client, session, "/burst\n/say Something else.")


async def memory(client: Client, session: str) -> None:
    """Remembered, corrected by hand between two turns, recalled, forgotten."""
    await _say(client, session, "Remember that I like a plain design style.")
    (kept,) = (await client.get("/api/memory")).json()["memories"]
    body = {"content": "I like a colourful design style."}
    assert (await client.http.patch(f"/api/memory/{kept['id']}", json=body)).status_code == 200
    await _say(client, session, "Design a logo for me.")
    await _say(client, session, "Forget what I told you about the design style.")


async def artifact(client: Client, session: str) -> None:
    """A large result that was offloaded, and a file that came with a message."""
    await _say(client, session, "Show me 300 sample orders")
    files = [{"name": "notes.md", "text": "# Notes\n\nBuy tea.\n"}]
    await _say(client, session, "What is in this file?", attachments=files)


async def cancel(client: Client, session: str) -> None:
    """Stopped in the midst of its text; and a message that was taken back while it waited."""
    turn = await client.begin(session, LONG)
    await _until(client, session, turn, "text")
    waiting = await client.begin(session, "/say never", on_conflict="queue")
    assert (await client.post(_path(session, waiting) + "/cancel")).status_code < 300
    await client.post(_path(session, turn) + "/cancel")
    await _until(client, session, turn, "done")
    await _say(client, session, "/say Again.")


async def error(client: Client, session: str) -> None:
    """Refused by the endpoint, twice in different ways; a limit; then well."""
    await _say(client, session, "/say Some text.\n/fault http_401")
    await _say(client, session, "/fault http_404")
    await _say(client, session, "\n/then\n".join(['/call calculate {"expression": "1"}'] * 20))
    await _say(client, session, "/say Well.")


async def interrupt(client: Client, session: str) -> None:
    """A message waits its turn; another one interrupts."""
    first = await client.begin(session, LONG)
    await _until(client, session, first, "text")
    queued = await client.begin(session, "/say queued", on_conflict="queue")
    urgent = await client.begin(session, "/say urgent", on_conflict="interrupt")
    for turn in (first, queued, urgent):
        await _until(client, session, turn, "done")


async def branches(client: Client, session: str) -> None:
    """Asked anew, changed and asked again, gone back to, begun once more from nothing."""
    one = await _say(client, session, "/say one")
    two = await _say(client, session, "/say two")
    await client.post(_path(session, two) + "/regenerate", {}, accept="application/json")
    await _idle(client, session)
    await _say(client, session, "/say two, changed", parent_turn_id=one["turn_id"])
    await _say(client, session, "/say three")
    assert (await client.post(f"/api/sessions/{session}/branches/0/activate")).status_code == 200
    await _say(client, session, "/say three of the first branch")
    await _say(client, session, "/say once more", parent_turn_id="root")
    await _feedback(client, session, one, rating="up", of="turn")
    await _feedback(client, session, two, rating="down", reason="太短", of="message")
    await _feedback(client, session, one, rating="none", of="turn")


async def client_tool(client: Client, session: str) -> None:
    """A tool that the client runs, beside one of the gateway's, and one whose run failed."""
    for result in ({"content": "Basel"}, {"content": "no signal", "is_error": True}):
        message = '/call locate {"exact": true}\n/call calculate {"expression": "2+2"}\n/then\n/say There.'
        turn = await client.begin(session, message, tools=[LOCATE])
        await _until_status(client, session, turn, "awaiting_tool_result")
        calls = [each for each in await client.events(session, turn["seq"]) if each["type"] == "tool_call"]
        (call,) = [each["tool_call_id"] for each in calls if each["data"].get("runs_on") == "client"]
        assert (await client.post(f"{_path(session, turn)}/tool_results/{call}", result)).status_code == 200
        await _until(client, session, turn, "done")


async def everything(client: Client, session: str) -> None:
    """One long turn that has of everything: what is remembered, calls of all kinds and ends, an attempt that
    broke off, a person's decision, a run in the client, a large result, all marks of a text. What was
    compressed and rated stands around it."""
    await _say(client, session, f"/burst\n/say Note. {'It is long. ' * 100}")
    await _say(client, session, "Remember that I like a plain design style.\n/burst")
    await _say(client, session, "/say one")
    done = await client.post(f"/api/sessions/{session}/compress")
    assert done.status_code == 201, done.text
    turn = await client.begin(session, EVERYTHING, tools=[LOCATE])
    asked = await _until(client, session, turn, "approval_request")
    await _until_status(client, session, turn, "awaiting_approval")
    path = f"{_path(session, turn)}/approvals/{asked['tool_call_id']}"
    assert (await client.post(path, {"decision": "approve", "arguments": {"text": "two"}})).status_code == 200
    await _until_status(client, session, turn, "awaiting_tool_result")
    calls = [each for each in await client.events(session, turn["seq"]) if each["type"] == "tool_call"]
    (call,) = [each["tool_call_id"] for each in calls if each["data"].get("runs_on") == "client"]
    where = await client.post(f"{_path(session, turn)}/tool_results/{call}", {"content": "Basel"})
    assert where.status_code == 200
    await _until(client, session, turn, "done")
    await _feedback(client, session, turn, rating="down", reason="太长", of="turn")


RECORDED: dict[str, Callable[[Client, str], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        text,
        tools,
        approval,
        superseded,
        compression,
        memory,
        artifact,
        cancel,
        error,
        interrupt,
        branches,
        client_tool,
        everything,
    )
}


@tool(effect="read_only")
async def count(to: int, progress: Progress) -> str:
    """Counts.

    Args:
        to: How far.
    """
    for step in range(3):
        progress(f"{step + 1} of 3", (step + 1) / 3)
        await asyncio.sleep(2 * INTERVAL)  # so that each is told
    return str(to)


def _path(session: str, turn: dict[str, Any]) -> str:
    return f"/api/sessions/{session}/turns/{turn['turn_id']}"


async def _say(client: Client, session: str, message: str, **options: Any) -> dict[str, Any]:
    turn = await client.begin(session, message, **options)
    await _until(client, session, turn, "done")
    return turn


async def _until(client: Client, session: str, turn: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first event of that type in the turn."""
    path = f"/api/sessions/{session}/events?turn_id={turn['turn_id']}"
    async with asyncio.timeout(TIMEOUT), client.frames(path) as frames:
        async for frame in frames:
            if frame.event == kind:
                return frame.data
    raise AssertionError(f"turn {turn['turn_id']} has no {kind}")


async def _until_status(client: Client, session: str, turn: dict[str, Any], status: str) -> None:
    async with asyncio.timeout(TIMEOUT):
        while (await client.get(_path(session, turn))).json()["status"] != status:
            await asyncio.sleep(0.01)


async def _idle(client: Client, session: str) -> None:
    async with asyncio.timeout(TIMEOUT):
        while "open_turn" in (await client.get(f"/api/sessions/{session}/snapshot")).json():
            await asyncio.sleep(0.01)


async def _feedback(client: Client, session: str, turn: dict[str, Any], **body: Any) -> None:
    assert (await client.post(_path(session, turn) + "/feedback", body)).status_code == 200


async def main(wanted: list[str]) -> None:
    """Each session has a gateway of its own: what one is remembered to have said stays out of the others."""
    for name in wanted or RECORDED:
        with tempfile.TemporaryDirectory() as folder:
            async with serve_demo(pace=0.002) as url:
                settings = settings_for(Path(folder), url, max_iterations=6)
                async with running_gateway(settings, *demo_tools(Path(folder)), count) as client:
                    session = await client.session()
                    await RECORDED[name](client, session)
                    print(f"{name}: {await keep(client, session, name)} events")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
