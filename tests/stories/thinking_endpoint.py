"""An endpoint whose models think, with the ways of real ones: what they sign, what they refuse."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.loopback import served

Block = dict[str, Any]
Body = Mapping[str, Any]

FORGED = "Invalid `signature` in `thinking` block"
WANTED = "The `content[].thinking` in the thinking mode must be passed back to the API."


def blocks_of(body: Body, role: str = "assistant") -> list[tuple[str, Block]]:
    """The blocks of that role's messages, each with its place."""
    return [
        (f"messages.{number}.content.{place}", block)
        for number, message in enumerate(body["messages"])
        if message["role"] == role
        for place, block in enumerate(message["content"])
    ]


def thoughts_in(body: Body) -> list[Block]:
    """The thinking that was sent."""
    return [block for _, block in blocks_of(body) if block["type"] == "thinking"]


def claude(body: Body) -> str | None:
    """Reads what the model that is asked has signed, and nothing else; in a tool's round it wants that."""
    for place, block in blocks_of(body):
        if block["type"] == "thinking":
            if set(block) != {"type", "thinking", "signature"}:
                return f"{place}.thinking.signature: Field required"
            if block["signature"] != f"signed by {body['model']}":
                return f"{place}: {FORGED}"
    round_of_tools = body["messages"][-1]["content"][0]["type"] == "tool_result"
    if round_of_tools and "thinking" in body and body["messages"][-2]["content"][0]["type"] != "thinking":
        return "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    return None


def deepseek(body: Body) -> str | None:
    """Wants all thinking back that led to calls of tools, whatever signs it."""
    if "thinking" not in body:
        return None
    for message in body["messages"]:
        kinds = [block["type"] for block in message["content"]]
        if message["role"] == "assistant" and "tool_use" in kinds and "thinking" not in kinds:
            return WANTED
    return None


def lenient(_: Body) -> str | None:
    return None


class ThinkingEndpoint:
    """`refuses` says in which words a request is refused; `signs` how a model signs, None: with no field;
    `answers_as` under which name it answers, `ends` why it stops. Where the message has "tool" in it, the
    answer calls one first, in so many `rounds`; where it has "pause", the answer pauses in a tool of the
    endpoint's own."""

    def __init__(
        self,
        refuses: Callable[[Body], str | None] = claude,
        *,
        signs: Callable[[str], str | None] = "signed by {}".format,
        answers_as: Callable[[str], str] = str,
        ends: str = "end_turn",
        rounds: int = 1,
    ) -> None:
        self.refuses, self.signs, self.answers_as, self._ends = refuses, signs, answers_as, ends
        self._rounds = rounds
        self.bodies: list[dict[str, Any]] = []
        self.refused: list[str] = []

    @asynccontextmanager
    async def served(self) -> AsyncGenerator[str]:
        routes = [Route("/v1/messages", self._messages, methods=["POST"])]
        async with served(Starlette(routes=routes)) as url:
            yield url

    async def _messages(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        if (words := self.refuses(body)) is not None:
            self.refused.append(words)
            error = {"type": "invalid_request_error", "message": words}
            return Response(orjson.dumps({"type": "error", "error": error}), 400)
        self.bodies.append(body)
        return Response(
            _stream(self._answer(body), self.answers_as(body["model"]), self._ends),
            media_type="text/event-stream",
        )

    def _answer(self, body: Body) -> Sequence[Block]:
        thought: Block = {"type": "thinking", "thinking": f"Thought {len(self.bodies)} of {body['model']}."}
        if (signature := self.signs(body["model"])) is not None:
            thought["signature"] = signature
        last = body["messages"][-1]["content"]
        said = " ".join(block.get("text", "") for block in last)
        if "pause" in said:
            call = {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "web_search",
                "input": {"query": "x"},
            }
            return [thought, {"type": "text", "text": "I look."}, call]
        if "tool" in said or (last[0]["type"] == "tool_result" and _rounds_in(body) < self._rounds):
            number = f"toolu_{len(self.bodies)}"
            return [
                thought,
                {"type": "tool_use", "id": number, "name": "calculate", "input": {"expression": "17*23"}},
            ]
        return [thought, {"type": "text", "text": "Done."}]


def _rounds_in(body: Body) -> int:
    """How many rounds of tools came since the newest question."""
    since = [
        each["content"][0]["type"] == "tool_result" for each in body["messages"] if each["role"] == "user"
    ]
    return list(reversed(since)).index(False)


def _stream(content: Sequence[Block], model: str, reason: str) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "model": model, "usage": usage}
    events: list[Block] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(content):
        start, deltas = dict(block), list[Block]()
        match block["type"]:
            case "thinking":
                start["thinking"] = ""
                deltas.append({"type": "thinking_delta", "thinking": block["thinking"]})
                if "signature" in block:
                    start["signature"] = ""
                    deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "text":
                start["text"] = ""
                deltas.append({"type": "text_delta", "text": block["text"]})
            case kind:
                start["input"] = {}
                deltas.append(
                    {"type": "input_json_delta", "partial_json": orjson.dumps(block["input"]).decode()}
                )
                reason = "pause_turn" if kind == "server_tool_use" else "tool_use"
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}})
    events.append({"type": "message_stop"})
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (each["type"].encode(), orjson.dumps(each)) for each in events
    )
