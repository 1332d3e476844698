"""`gateway chat --print`: a question of a script and its answer, in the forms that `claude --print` has.

What is taken over of its output, and what differs, is in docs/command-line.md. Source of the forms: "Agent
SDK reference - TypeScript", SDKSystemMessage, SDKAssistantMessage, SDKUserMessage and SDKResultMessage,
https://docs.claude.com/en/api/agent-sdk/typescript.
"""

import asyncio
import json
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import aclosing, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from gateway.cli.terminal import to_stderr
from gateway.client import AsyncGatewayClient
from gateway.errors import GatewayError
from gateway.session_pages.words import describe, printable

Form = Literal["text", "json", "stream-json"]
Event = dict[str, Any]

NOBODY = "Nobody can be asked: this is gateway chat --print. It has to be started with --allowed-tools {}."
LIMITS = {"max_iterations": "error_max_turns", "budget_exceeded": "error_max_budget_usd"}
STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143}
"""Signals that stop the turn, and the exit codes that shells know them by."""
_SEPARATORS = re.compile(r"[\s,]+")


async def print_answer(
    client: AsyncGatewayClient,
    session: dict[str, Any] | None,
    message: str,
    *,
    form: Form,
    allowed_tools: Sequence[str],
    options: dict[str, Any],
) -> int:
    """Asks `message` in the session or in a new one. `allowed_tools` are globs (`tools_of`), `options` fields
    of the turn's body. Returns the exit code: 0, 1 for a turn that failed, one of STOPPED for one that a
    signal stopped.

    Raises:
        GatewayError: it was not taken, or its stream is lost for good.
    """
    session_id = session["id"] if session else str((await client.create_session())["id"])
    printed = Printed(session_id, form)
    body = {name: value for name, value in options.items() if value is not None}
    turn = await client.start_turn(session_id, message, **body)
    turn_id = turn["turn_id"]
    if form == "stream-json":
        printed.offered = await _offered(client)
    stopping: list[asyncio.Task[Any]] = []
    codes: list[int] = []

    def stop(code: int) -> None:
        if stopping:
            raise KeyboardInterrupt
        codes.append(code)
        stopping.append(asyncio.ensure_future(client.cancel(session_id, turn_id)))

    loop = asyncio.get_running_loop()
    for each, code in STOPPED.items():
        loop.add_signal_handler(each, stop, code)
    try:
        frames = client.follow_session(session_id, after=int(turn["seq"]), turn_id=turn_id)
        async with aclosing(frames):
            async for frame in frames:
                event = frame.load()
                printed.take(event)
                if frame.event == "approval_request":
                    await _decide(client, event, allowed_tools, printed)
        for each in stopping:
            with suppress(GatewayError):
                await each
    finally:
        for each in STOPPED:
            loop.remove_signal_handler(each)
    code = printed.end()
    return codes[0] if codes and code else code


def tools_of(given: Sequence[str]) -> Sequence[str]:
    """Globs of the tools that `--allowed-tools` names, with commas or blanks between; the name of an MCP
    server alone, `mcp__files`, stands for all of its tools."""
    names = [each for text in given for each in _SEPARATORS.split(text) if each]
    servers = [f"{each}__*" for each in names if each.startswith("mcp__") and each.count("__") == 1]
    return [*names, *servers]


async def _offered(client: AsyncGatewayClient) -> list[dict[str, Any]]:
    """The skills that are on; none where the gateway tells none."""
    try:
        return [each for each in (await client.skills())["skills"] if each["enabled"]]
    except GatewayError:
        return []


async def _decide(
    client: AsyncGatewayClient, asked: Event, allowed_tools: Sequence[str], printed: "Printed"
) -> None:
    name = asked["data"]["name"]
    if any(fnmatchcase(name, each) for each in allowed_tools):
        given: dict[str, Any] = {"decision": "approve"}
    else:
        given = {"decision": "deny", "reason": NOBODY.format(name)}
        to_stderr(f"gateway: {name} was denied. --allowed-tools {name} allows it.")
        printed.deny(asked)
    with suppress(GatewayError):  # somebody else was faster
        await client.decide(asked["session_id"], asked["turn_id"], asked["tool_call_id"], **given)


class Printed:
    """Takes the events of one turn in order and prints what its form asks for."""

    def __init__(self, session_id: str, form: Form) -> None:
        self.offered: list[dict[str, Any]] = []
        """Skills that are on, for the first line of stream-json."""
        self._session_id = session_id
        self._form: Form = form
        self._model = ""
        self._content: list[dict[str, Any]] = []
        """Blocks of the message that is being written."""
        self._ended: Event | None = None
        """The iteration's end, after which only its calls come."""
        self._answer = ""
        self._waiting = 0.0
        self._errors: list[str] = []
        self._denied: list[dict[str, Any]] = []
        self._done: Event = {}

    def take(self, event: Event) -> None:
        """The next event."""
        data = event["data"]
        match event["type"]:
            case "turn_start":
                self._begin(data["model"])
            case "iteration_start":
                self._flush()
                self._model, self._answer = data["model"], ""
            case "iteration_superseded":
                self._content, self._ended, self._answer = [], None, ""
            case "thinking" | "text" as kind:
                self._add(kind, data["text"])
                self._answer += data["text"] if kind == "text" else ""
            case "iteration_end":
                self._ended = data
                self._waiting += data["duration_ms"]
            case "tool_call":
                call = {"type": "tool_use", "id": event["tool_call_id"], "name": data["name"]}
                self._content.append({**call, "input": data["arguments"]})
            case "tool_result":
                self._flush()
                block = {
                    "type": "tool_result",
                    "tool_use_id": event["tool_call_id"],
                    "content": data["content"],
                }
                self._message("user", {"content": [{**block, "is_error": data["status"] != "ok"}]})
            case "error":
                self._errors.append(data["message"])
            case "done":
                self._flush()
                self._done = data
            case _:
                pass

    def deny(self, asked: Event) -> None:
        """A call that nobody allowed."""
        data = asked["data"]
        self._denied.append(
            {"tool_name": data["name"], "tool_use_id": asked["tool_call_id"], "tool_input": data["arguments"]}
        )

    def end(self) -> int:
        """Prints the result. Returns the exit code: 0, or 1 for a turn that failed or was stopped."""
        failed = self._done.get("status") != "completed"
        if self._form == "text":
            if self._answer:
                print((printable(self._answer) if sys.stdout.isatty() else self._answer).rstrip("\n"))
            if failed:
                to_stderr(f"gateway: {self._reason()}")
        else:
            self._result(failed)
        return int(failed)

    def _begin(self, model: str) -> None:
        if self._form != "stream-json":
            return
        servers = sorted({each["source"] for each in self.offered if each["type"] == "mcp"})
        self._line(
            type="system",
            subtype="init",
            cwd=str(Path.cwd()),
            tools=[each["name"] for each in self.offered if each["type"] != "markdown"],
            mcp_servers=[{"name": each, "status": "connected"} for each in servers],
            model=model,
            permissionMode="default",
            slash_commands=[],
        )

    def _result(self, failed: bool) -> None:
        done = self._done
        limit = LIMITS.get(done.get("stop_reason", ""), "error_during_execution")
        self._line(
            type="result",
            subtype=limit if failed else "success",
            is_error=failed,
            duration_ms=done.get("duration_ms", 0),
            duration_api_ms=int(self._waiting),
            num_turns=done.get("iterations", 0),
            result=self._answer,
            stop_reason=done.get("stop_reason"),
            total_cost_usd=done.get("cost"),
            usage=done.get("usage", {}),
            permission_denials=self._denied,
            **({"errors": [self._reason()]} if failed else {}),
        )

    def _reason(self) -> str:
        ended = describe("done", self._done) if self._done else None
        return " ".join(self._errors) or (ended or "The turn did not end.").removeprefix("■ ")

    def _add(self, kind: str, text: str) -> None:
        if not self._content or self._content[-1]["type"] != kind:
            self._content.append({"type": kind, kind: ""})
        self._content[-1][kind] += text

    def _flush(self) -> None:
        """The message of the model, now that its calls are known."""
        if self._content:
            ended = self._ended or {}
            said = {"id": f"msg_{uuid4().hex}", "type": "message", "model": self._model}
            said |= {"content": self._content, "stop_reason": ended.get("stop_reason")}
            said |= {"stop_sequence": ended.get("stop_sequence"), "usage": ended.get("usage") or {}}
            self._message("assistant", said)
        self._content, self._ended = [], None

    def _message(self, role: Literal["assistant", "user"], message: dict[str, Any]) -> None:
        if self._form == "stream-json":
            self._line(type=role, message={"role": role, **message}, parent_tool_use_id=None)

    def _line(self, **fields: Any) -> None:
        print(
            json.dumps({**fields, "session_id": self._session_id, "uuid": str(uuid4())}, ensure_ascii=False),
            flush=True,
        )
