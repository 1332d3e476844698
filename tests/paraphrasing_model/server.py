"""A second fake model beside the demo: it speaks the Messages API over a real socket and answers as real
models do, in words of its own. What holds with both of them does not hang on how the demo writes.

It knows nothing of the gateway but what its requests say. Without a script it looks before it saves what a
user asks it to remember, and answers with the line of its request that is closest to the question. It puts a
sentence before a tool call and before JSON, fences the JSON, and cites nothing to the letter. `scripts.py`
says how a test scripts it, `purposes.py` what it answers beside a turn. Beside `/v1/messages` it has

    POST /scripts      a script
    DELETE /scripts    forgets scripts and requests
    GET /requests      the newest requests, the oldest first (?limit=)
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from itertools import count
from typing import Any, NamedTuple

from pydantic import ValidationError

from gateway.demo import usage, wire
from gateway.demo.api_versions import check_key
from gateway.demo.connection import Act, ConnectionCounts, Request
from gateway.demo.connection import Script as Played
from gateway.demo.question import blocks, closest
from gateway.demo.record import MAX_REQUESTS, Record
from gateway.demo.server import checked_body, parsed_json, refuse, reply_json, serve
from gateway.demo.strictness import RejectedRequest
from gateway.demo.wire import DemoReply, InputUsage, Part, text_block
from tests.paraphrasing_model import purposes
from tests.paraphrasing_model.scripts import Script, Scripts, Step
from tests.paraphrasing_model.wording import before_a_call, is_chinese, paraphrase, sentences, typographic

MEMORY_TOOL = "manage_memory"
_ASKED_TO_KEEP = ("remember", "from now on", "记住", "記住", "记得", "以后")


class Turn(NamedTuple):
    """What a request asks: the user's newest text with what stands beside it, and how many times the model
    has answered in that turn."""

    text: str
    answered: int


class ParaphrasingModel:
    def __init__(self) -> None:
        self.counters = ConnectionCounts()
        self._scripts = Scripts()
        self._record = Record()
        self._numbers = count()

    def answer(self, request: Request) -> Played:
        """What goes to the socket for a request."""
        routes: dict[tuple[str, str], Callable[[Request], list[Act]]] = {
            ("POST", "/v1/messages"): self._messages,
            ("POST", "/v1/messages/count_tokens"): _count_tokens,
            ("POST", "/scripts"): self._script,
            ("DELETE", "/scripts"): self._forget,
            ("GET", "/requests"): self._requests,
        }
        route = routes.get((request.method, request.path))
        if route is None:
            return refuse(404, f"There is no {request.method} {request.path} here.")
        try:
            return Played(route(request), is_call=request.path == "/v1/messages")
        except RejectedRequest as refused:
            return refuse(refused.status, refused.message)

    def _messages(self, request: Request) -> list[Act]:
        check_key(request.headers)
        self._record.add(request)
        body = checked_body(request)
        parts = self._parts(body)
        calls = any(isinstance(part, dict) and part["type"] == "tool_use" for part in parts)
        reply = DemoReply(
            id=f"msg_{next(self._numbers):020d}",
            model=body["model"],
            parts=parts,
            stop_reason="tool_use" if calls else "end_turn",
            usage=InputUsage(input_tokens=usage.count(body)),
        )
        asked = purposes.purpose_of(body)
        wait = self._scripts.wait(asked, "\n".join(texts_of(body)))
        acts = wire.stream(reply) if body.get("stream") else reply_json(200, wire.message(reply))
        return [wait, *acts] if wait else acts

    def _parts(self, body: Mapping[str, Any]) -> list[Part]:
        asked = purposes.purpose_of(body)
        if asked != "answer":
            text = "\n\n".join(text for message in body["messages"] for text in message_texts(message))
            return [text_block(purposes.answer(asked, text, self._scripts))]
        turn = _turn(body)
        scripts = [script for script in self._scripts.matching("answer", turn.text) if script.steps]
        if not scripts:
            return self._done(_own_steps(body, turn), turn)
        steps = scripts[0].steps
        return self._done(steps[turn.answered] if turn.answered < len(steps) else [Step()], turn)

    def _done(self, steps: list[Step], turn: Turn) -> list[Part]:
        chinese = is_chinese(turn.text)
        said = [typographic(step.answer) for step in steps if step.answer is not None]
        calls = [_call(step) for step in steps if step.call is not None or step.save is not None]
        if calls and not said:
            said = [before_a_call(chinese=chinese)]
        if not calls and not said:
            said = ["好的。" if chinese else "All right."]
        seed = sha256(f"{turn.text}{turn.answered}{next(self._numbers)}".encode()).hexdigest()[:20]
        return [
            text_block("\n".join(said)),
            *(
                {"type": "tool_use", "id": f"toolu_{seed}{at:02d}", "name": name, "input": given}
                for at, (name, given) in enumerate(calls)
            ),
        ]

    def _script(self, request: Request) -> list[Act]:
        try:
            self._scripts.add(Script.model_validate(parsed_json(request.body)))
        except ValidationError as invalid:
            raise RejectedRequest(str(invalid)) from None
        return reply_json(200, {})

    def _forget(self, _: Request) -> list[Act]:
        self._scripts.clear()
        self._record.clear()
        return reply_json(200, {})

    def _requests(self, request: Request) -> list[Act]:
        limit = int(request.query.get("limit", MAX_REQUESTS))
        return reply_json(200, {"requests": self._record.last(limit)})


def _own_steps(body: Mapping[str, Any], turn: Turn) -> list[Step]:
    """What the model does without a script."""
    offered = {tool.get("name") for tool in body.get("tools") or ()}
    kept = next(
        (each for each in sentences(turn.text) if any(k in each.lower() for k in _ASKED_TO_KEEP)), None
    )
    if kept is not None and kept[-1] not in "?？" and MEMORY_TOOL in offered and turn.answered < 2:
        if turn.answered == 0:
            return [Step(call=MEMORY_TOOL, input={"action": "search", "search": kept[:200]})]
        return [Step(save=paraphrase(kept))]
    lines = [line for text in texts_of(body) for line in text.splitlines() if line not in turn.text]
    nearest = closest(turn.text, lines) if turn.answered == 0 else None
    unknown = "这个我不知道。" if is_chinese(turn.text) else "I don’t know anything about that."
    return [Step(answer=paraphrase(nearest) if nearest else None if turn.answered else unknown)]


def _call(step: Step) -> tuple[str, dict[str, Any]]:
    if step.call is not None:
        return step.call, step.input
    return MEMORY_TOOL, {"action": "save", "content": step.save, **(step.model_extra or {})}


def _turn(body: Mapping[str, Any]) -> Turn:
    """The texts between the model's last answer to the user and what it has said since."""
    said: list[str] = []
    answered = 0
    for message in reversed(body["messages"]):
        if message["role"] == "assistant":
            if said:
                break
            answered += 1
        elif all(block["type"] != "tool_result" for block in blocks(message)):
            said[:0] = message_texts(message)
    return Turn("\n".join(said), answered)


def texts_of(body: Mapping[str, Any]) -> list[str]:
    """Every text that a request gives the model: its system prompt, its messages, results of tools."""
    system = [block["text"] for block in blocks({"content": body.get("system") or []})]
    return system + [text for message in body["messages"] for text in message_texts(message)]


def message_texts(message: Mapping[str, Any]) -> list[str]:
    """The texts of a message, in the order in which they stand."""
    found: list[str] = []
    for block in blocks(message):
        inner = blocks({"content": block.get("content") or []}) if block["type"] == "tool_result" else [block]
        found += [each["text"] for each in inner if each["type"] == "text"]
    return found


def _count_tokens(request: Request) -> list[Act]:
    return reply_json(200, {"input_tokens": usage.count(checked_body(request, counting=True))})


@asynccontextmanager
async def serve_paraphrasing_model() -> AsyncGenerator[str]:
    """Serves the model in this event loop and yields its base URL; see `client.py` for a test's side."""
    model = ParaphrasingModel()
    async with serve(model.answer, model.counters) as url:
        yield url
