"""What is said to the gateway is in no span, no log line and no metric, unless an operator asks for it."""

import http.server
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.telemetry.spans.message_content import VARIABLE
from tests.harness import Client, running_gateway, settings_for, the
from tests.product import Settings, ToolContext, tool
from tests.stories.asking import Outbox, ask, parked
from tests.telemetry.collector import Collector, about

pytestmark = pytest.mark.anyio

PLANTED = "sesame-4711-open"


@tool(effect="read_only")
async def look(word: str, context: ToolContext) -> str:
    """Looks a word up, and fails with it."""
    with context.step("search", {"word": word}) as step:
        step.output = word
        raise ValueError(f"no such word: {word}")


@tool(effect="read_only")
def recite(word: str) -> str:
    """Says a word more often than anybody should read."""
    return f"{word}\n" * 3000


@contextmanager
def quoting_endpoint() -> Generator[str]:
    """An endpoint that refuses every request and quotes it."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["content-length"])).decode()
            error = {"type": "invalid_request_error", "message": f"cannot read: {asked}"}
            body = json.dumps({"type": "error", "error": error}).encode()
            self.send_response(400)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def say_it_everywhere(client: Client) -> bytes:
    """The planted word as message, thought, answer, argument, exception, title and query; returns the
    metrics."""
    call = json.dumps({"word": PLANTED})
    script = f"{PLANTED}\n/think {PLANTED}\n/say {PLANTED}\n/call look {call}\n/call search_docs "
    script += json.dumps({"query": f"resume {PLANTED}"}) + "\n/call read_skill "
    script += json.dumps({"name": f"the skill {PLANTED}"}) + f"\n/then\n/say {PLANTED}"
    found = await client.chat(script)
    session = found[0]["session_id"]
    await client.chat(f"{PLANTED} /fault http_529 once", session_id=session)
    await client.http.patch(f"/api/sessions/{session}", json={"title": PLANTED})
    await client.get(f"/api/sessions?q={PLANTED}")
    assert PLANTED in json.dumps(found)
    return (await client.get("/metrics", accept="application/openmetrics-text")).content


async def decide_with_it(client: Client) -> None:
    """The planted word in what a person is asked, and in what the person says to it."""
    script = f'/call send {{"to": "{PLANTED}"}}\n/call post {{"text": "{PLANTED}"}}\n/then\n/say so'
    asked = await parked(await ask(client, script, waiting=2))
    await asked.decide("deny", "post", reason=PLANTED)
    await asked.decide("approve", "send", arguments={"to": f"{PLANTED} again"})
    found = await asked.all_events()
    assert PLANTED in json.dumps(found)


async def remember_it(client: Client) -> None:
    """The planted word in memories of a user, the model and the keeper, as a tag, a quote and a query."""
    made = await client.post("/api/memory", {"content": f"Opens with {PLANTED}.", "tags": [PLANTED]})
    assert made.status_code == 201, made.text
    message = {"role": "user", "content": f"My dog is called {PLANTED}."}
    learned = await client.post("/api/memory/write", {"messages": [message], "is_own": True})
    assert PLANTED in learned.text
    save = json.dumps({"action": "save", "content": f"The model keeps {PLANTED}."})
    search = json.dumps({"action": "search", "search": f"opens {PLANTED}"})
    script = f"/call manage_memory {save}\n/call manage_memory {search}\n/then\n/say so"
    found = await client.chat(script)
    assert {"memory", "retrieval"} <= {event["type"] for event in found}
    assert (await client.http.delete(f"/api/memory/{made.json()['id']}")).status_code == 204


async def keep_it(client: Client) -> None:
    """The planted word as a result that is kept aside, a file of a message, what is searched in it, and a
    name."""
    look = json.dumps({"ref": "{{artifact}}", "search": PLANTED})
    script = f'/call recite {{"word": "{PLANTED}"}}\n/then\n/call read_artifact {look}\n/then\n/say so'
    found = await client.chat(script, attachments=[{"name": f"{PLANTED}.txt", "text": PLANTED}])
    assert PLANTED in the(found, "artifact")["summary"] + json.dumps(found)
    sent = await client.http.post(
        f"/api/artifacts?name={PLANTED}.csv", content=PLANTED.encode(), headers={"content-type": "text/csv"}
    )
    assert sent.status_code == 201, sent.text
    (ref,) = [event["data"]["ref"] for event in found if event["type"] == "artifact"]
    assert (await client.get(f"/api/artifacts/{ref}?search={PLANTED}")).status_code == 200


@pytest.mark.parametrize("endpoint", ["answers", "quotes"])
async def test_nothing_that_was_said_leaves_by_telemetry(
    tmp_path: Path, demo_url: str, collecting: Collector, capfd: pytest.CaptureFixture[str], endpoint: str
) -> None:
    """Every line at debug, every span and every metric of a gateway that was told a secret."""
    with quoting_endpoint() as quoting:
        url = demo_url if endpoint == "answers" else quoting
        settings = settings_for(tmp_path, url, log_level="debug", log_format="json", thinking_budget=1024)
        async with running_gateway(settings, look, recite, *Outbox().tools) as client:
            if endpoint == "quotes":
                found = await client.chat(f"Hello {PLANTED}")
                assert PLANTED in the(found, "error")["message"]
            else:
                await decide_with_it(client)
                await remember_it(client)
                await keep_it(client)
            metrics = await say_it_everywhere(client)

    lines = capfd.readouterr().err
    assert '"event": "turn done"' in lines
    assert ("tool_raised" in lines) == (endpoint == "answers")
    assert ('"event": "memory changed"' in lines) == (endpoint == "answers")
    assert ('"event": "artifact_kept"' in lines) == (endpoint == "answers")
    assert b"gen_ai" in metrics
    assert len(collecting.spans) > 8
    assert PLANTED not in lines
    assert PLANTED.encode() not in metrics
    assert PLANTED.encode() not in collecting.bytes


async def test_content_comes_with_the_standard_variable(
    settings: Settings, collecting: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run with SPAN_ONLY has it, so its absence above means something."""
    monkeypatch.setenv(VARIABLE, "SPAN_ONLY")
    async with running_gateway(settings, look) as client:
        await client.chat(f"/say {PLANTED}")

    root = about(collecting.one("invoke_agent"))
    assert root["output.value"] == PLANTED
    assert PLANTED in root["input.value"]
    assert PLANTED in about(collecting.one("chat"))["gen_ai.output.messages"]
