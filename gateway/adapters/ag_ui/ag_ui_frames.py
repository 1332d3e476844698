"""Parts of a turn as events of AG-UI, protocol 1.0 and the drafts before it, each a frame. Pure.

https://docs.ag-ui.com/concepts/events; each event has the form of its model in the package `ag-ui-protocol`.
Clients of both kinds die of a null in an optional field and of anything behind the end of a run, those of
drafts of a type of event, or of outcome, that they do not know.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from gateway.adapters.ag_ui.ag_ui_messages import RESULT, ClientMessages, Event, Message, user_message
from gateway.adapters.foreign_ids import call_name
from gateway.adapters.turn_parts import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    CallProgressed,
    Closed,
    Data,
    Grew,
    ModelAnswered,
    Noted,
    Opened,
    Part,
    Span,
    StepBegan,
    StepEnded,
    TurnBegan,
    TurnEnded,
    TurnToolCall,
    Waiting,
)
from gateway.errors import GatewayError

PROTOCOL = "1.0"
TEXT, REASONING = "TEXT_MESSAGE", "REASONING_MESSAGE"
MESSAGES = {"text": TEXT, "thinking": REASONING}
"""How the types of events about spans begin."""
ANSWER_SCHEMA = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "reason": {"type": "string"},
        "editedArgs": {"type": "object"},
    },
    "required": ["approved"],
}
"""What answers an approval. assistant-ui shows its buttons only for schemas of such keywords, and where
`approved` alone is required."""


class AgUiRun(NamedTuple):
    """What a client asked for. `is_new`: it speaks 1.0. It has `messages`, and gave itself the results of the
    calls `known`. With `tells_thread` it gets the user's messages, too, and all that it has is
    replaced."""

    thread_id: str
    run_id: str = ""
    is_new: bool = True
    messages: Sequence[Message] = ()
    known: Collection[str] = ()
    tells_thread: bool = False


class RunEvents:
    """The events of one run, but for the pieces of its texts, which whoever writes them adds to `texts`."""

    def __init__(self, run: AgUiRun) -> None:
        self._run = run
        self._run_id = run.run_id
        self._turn_id = ""
        self._step: str | None = None
        self._parent: str | None = None
        self._messages = ClientMessages(run.messages)
        self._model = ""
        self._usage = defaultdict[str, Counter[str]](Counter)
        self._sources: dict[str, Data] = {}
        self.texts: list[bytes] = []
        """The pieces of the open span."""

    def of(self, part: Part) -> Iterator[Event]:  # noqa: PLR0912 - a table
        match part:
            case TurnBegan():
                yield from self._began(part)
            case StepBegan(number, data):
                self._step, self._parent = f"iteration-{number}", None
                self._model = data.get("model", self._model)
                yield {"type": "STEP_STARTED", "stepName": self._step}
            case ModelAnswered(_, data):
                self._count(data)
            case StepEnded():
                yield from self._step_ends()
            case Opened(span):
                self.texts = []
                yield from _opened(span)
            case Closed(span):
                yield from self._closed(span)
            case CallMade(call):
                yield from self._called(call)
            case CallAnswered(call, data) if call.id not in self._run.known:
                yield self._answered(call, data)
            case AttemptWithdrawn(_, spans, data):
                self._count(data)
                yield from self._withdrawn(spans, data)
            case CallProgressed(call, data) | ApprovalGiven(call, data):
                kind = "tool_progress" if isinstance(part, CallProgressed) else "approval_response"
                yield _custom(kind, {"toolCallId": self._name(call), **data})
            case Noted(kind, data, _, call_id):
                if kind in {"retrieval", "artifact"} and call_id is not None:
                    self._sources.setdefault(call_id, {}).setdefault(kind, []).append(data)
                yield _custom(kind, data)
            case TurnEnded(data, error):
                yield self._ended(data, error)
            case _:
                pass

    def paused(self, waits_for: Sequence[Waiting]) -> Iterator[Event]:
        """The turn waits for a person or the client, and this run ends."""
        yield from self._step_ends()
        asked = [self._interrupt(each) for each in waits_for if isinstance(each, ApprovalAsked)]
        outcome: Event = {"type": "interrupt", "interrupts": asked} if asked else {"type": "success"}
        calls = [self._name(each.call) for each in waits_for if isinstance(each, CallMade)]
        if calls and not asked and self._run.is_new:
            outcome["pendingToolCallIds"] = calls
        yield self._finished({"outcome": outcome})

    def _began(self, began: TurnBegan) -> Iterator[Event]:
        """A client that already has a part of this turn is asked to drop it."""
        run, data = self._run, began.data
        self._turn_id, self._run_id = began.turn_id, run.run_id or began.turn_id
        self._model = data["model"]
        event: Event = {"type": "RUN_STARTED", "threadId": run.thread_id, "runId": self._run_id}
        if run.is_new:
            event["protocolVersion"] = PROTOCOL
        is_changed = self._messages.drop_stale(None if run.tells_thread else began.turn_id)
        if run.tells_thread:
            message = user_message(began)
            self._messages.add(message)
            fields = {"threadId": run.thread_id, "runId": self._run_id, "messages": [message]}
            event["input"] = {**fields, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
        about = {"session_id": began.session_id, "turn_id": began.turn_id, "model": data["model"]}
        yield {**event, "metadata": {"gateway": about}}
        if is_changed:
            yield self._snapshot()
        if (files := data.get("attachments")) is not None:
            yield _custom("attachments", {"attachments": files})

    def _step_ends(self) -> Iterator[Event]:
        if self._step is not None:
            yield {"type": "STEP_FINISHED", "stepName": self._step}
            self._step = None

    def _closed(self, span: Span) -> Iterator[Event]:
        yield {"type": f"{MESSAGES[span.kind]}_END", "messageId": span.id}
        text = orjson.loads(b'"%b"' % b"".join(piece[1:-1] for piece in self.texts))
        if span.kind == "text":
            self._parent = span.id
            self._messages.add({"id": span.id, "role": "assistant", "content": text})
        else:
            self._messages.add({"id": span.id, "role": "reasoning", "content": text})
            yield {"type": "REASONING_END", "messageId": span.id}

    def _called(self, call: TurnToolCall) -> Iterator[Event]:
        """It belongs to the text before it in its step, else to a message that the step's calls share."""
        name, arguments = self._name(call), orjson.dumps(call.arguments).decode()
        if self._parent is None:
            self._parent = f"{self._turn_id}-{self._step}"
        function = {"name": call.name, "arguments": arguments}
        self._messages.add_call(self._parent, {"id": name, "type": "function", "function": function})
        named = {"toolCallId": name, "toolCallName": call.name, "parentMessageId": self._parent}
        yield {"type": "TOOL_CALL_START", **named}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": name, "delta": arguments}
        yield {"type": "TOOL_CALL_END", "toolCallId": name}

    def _answered(self, call: TurnToolCall, data: Data) -> Event:
        name = self._name(call)
        about = {"gateway": {"status": data["status"], **self._sources.pop(call.id, {})}}
        fields = {"toolCallId": name, "content": data["content"], "role": "tool", "metadata": about}
        self._messages.add({"id": name + RESULT, **fields})
        return {"type": "TOOL_CALL_RESULT", "messageId": name + RESULT, **fields}

    def _withdrawn(self, spans: Sequence[Span], data: Data) -> Iterator[Event]:
        if not spans:
            return
        yield _custom("iteration_superseded", {"messageIds": [span.id for span in spans], **data})
        self._parent = None
        self._messages.drop([span.id for span in spans])
        if not self._run.tells_thread:  # else the messages before this run are not at hand
            yield self._snapshot()

    def _snapshot(self) -> Event:
        return {"type": "MESSAGES_SNAPSHOT", "messages": self._messages.all()}

    def _interrupt(self, asked: ApprovalAsked) -> Event:
        name, data = self._name(asked.call), asked.data
        interrupt: Event = {"id": name, "reason": "tool_call", "toolCallId": name}
        interrupt["message"] = data.get("reason") or f"May {asked.call.name} run?"
        if "expires_at" in data:
            until = datetime.fromtimestamp(data["expires_at"] / 1000, UTC)
            interrupt["expiresAt"] = until.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {**interrupt, "responseSchema": ANSWER_SCHEMA}

    def _ended(self, data: Data, error: Data | None) -> Event:
        if error is not None or data["status"] in {"failed", "interrupted"}:
            why = error or {"code": data["status"], "message": "The turn came to no end.", "retryable": True}
            about = {"gateway": {"retryable": why["retryable"], **data}}
            return {**_failed(why["code"], why["message"]), **self._used(), "metadata": about}
        if data["status"] != "cancelled":
            return self._finished({"outcome": {"type": "success"}, "result": data})
        # Clients of drafts die of the outcome.
        return self._finished({"outcome": {"type": "cancelled"}} if self._run.is_new else {"result": data})

    def _finished(self, how: Event) -> Event:
        named = {"threadId": self._run.thread_id, "runId": self._run_id}
        event = {"type": "RUN_FINISHED", **named, **how, **self._used()}
        self._usage.clear()
        return event

    def _used(self) -> Event:
        """The tokens of this run's calls of models, where they are known."""
        used = [{"model": name, **counts} for name, counts in self._usage.items()]
        return {"usage": used} if used else {}

    def _count(self, data: Data) -> None:
        if (usage := data.get("usage")) is None:
            return
        read, written = usage.get("cache_read_input_tokens", 0), usage.get("cache_creation_input_tokens", 0)
        taken, given = usage["input_tokens"] + read + written, usage["output_tokens"]
        counts = {"inputTokens": taken, "outputTokens": given, "totalTokens": taken + given}
        cached = {"cachedInputTokens": read, "cacheWriteInputTokens": written}
        self._usage[data.get("model") or self._model].update({**counts, **cached})

    def _name(self, call: TurnToolCall) -> str:
        return call_name(self._turn_id, call.id)


class RunStream:
    """Encodes turns as server-sent events for clients of AG-UI."""

    def __init__(self, run: AgUiRun) -> None:
        self._events = RunEvents(run)
        self._delta = b""

    def encode(self, parts: Sequence[Part]) -> bytes:
        frames: list[bytes] = []
        for part in parts:
            if type(part) is Grew:
                self._events.texts.append(part.text)
                frames.append(self._delta % part.text)
                continue
            if type(part) is Opened:
                kind, name = MESSAGES[part.span.kind], part.span.id
                self._delta = b'data: {"type":"%b_CONTENT","messageId":"%b","delta":%%b}\n\n' % (
                    kind.encode(),
                    name.encode(),
                )
            frames += map(_frame, self._events.of(part))
        return b"".join(frames)

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        return b"".join(map(_frame, self._events.paused(waits_for)))

    def trouble(self, error: GatewayError) -> bytes:
        return failed_frame(error)


def failed_frame(error: GatewayError) -> bytes:
    return _frame(_failed(error.code, error.message))


def _failed(code: str, message: str) -> Event:
    return {"type": "RUN_ERROR", "code": code, "message": message}


def _opened(span: Span) -> Iterator[Event]:
    if span.kind == "text":
        yield {"type": f"{TEXT}_START", "messageId": span.id, "role": "assistant"}
    else:
        yield {"type": "REASONING_START", "messageId": span.id}
        yield {"type": f"{REASONING}_START", "messageId": span.id, "role": "reasoning"}


def _custom(name: str, value: Data) -> Event:
    return {"type": "CUSTOM", "name": name, "value": value}


def _frame(event: Event) -> bytes:
    return b"data: %b\n\n" % orjson.dumps(event)
