"""Parts of a turn as a chat completion of OpenAI's API, in chunks or whole. Pure.

https://platform.openai.com/docs/api-reference/chat; fields and values are those of the package `openai`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from gateway.adapters.answer_remarks import STARTS_OVER, asks_approval
from gateway.adapters.answer_usage import AnswerUsage
from gateway.adapters.foreign_ids import call_name
from gateway.adapters.turn_parts import (
    AttemptWithdrawn,
    CallMade,
    Data,
    Grew,
    Noted,
    Opened,
    Part,
    TurnBegan,
    TurnEnded,
    Waiting,
)
from gateway.errors import GatewayError
from gateway.thinking_in_text import without_thinking

Json = dict[str, Any]

DONE = b"data: [DONE]\n\n"
FIELDS = {"text": "content", "thinking": "reasoning_content"}
REASONS: Mapping[str | None, str] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
STATUSES: Mapping[str, int] = {
    "upstream_rate_limited": 429,
    "upstream_overloaded": 503,
    "upstream_timeout": 504,
    "context_overflow": 400,
    "content_refused": 400,
}
"""Of answers whose turn failed; 502 of all other failures."""
NO_RETRY = {"x-should-retry": "false"}
"""The SDKs would begin the turn anew: the gateway itself has repeated what may be."""


class _Completion:
    """The state of one answer."""

    def __init__(self, turn_id: str, model: str, created: int, page: str) -> None:
        """`created`: Unix seconds; `page` is the address at which a person decides."""
        self.about = {"id": f"chatcmpl-{turn_id}", "created": created, "model": model}
        self._turn_id = turn_id
        self._page = page
        self._usage = AnswerUsage()

    def _used(self, ended: TurnEnded | None) -> Json:
        return usage_of(self._usage.of(ended))

    def _calls(self, waits_for: Sequence[Waiting]) -> list[Json]:
        return [
            {
                "id": call_name(self._turn_id, each.call.id),
                "type": "function",
                "function": {
                    "name": each.call.name,
                    "arguments": orjson.dumps(each.call.arguments).decode(),
                },
            }
            for each in waits_for
            if isinstance(each, CallMade)
        ]


class CompletionChunks(_Completion):
    """Encodes a turn as server-sent events."""

    def __init__(self, turn_id: str, model: str, created: int, page: str, *, with_usage: bool) -> None:
        super().__init__(turn_id, model, created, page)
        self._with_usage = with_usage
        head = orjson.dumps({**self.about, "object": "chat.completion.chunk"})[:-1]
        self._head = b"data: " + head
        self._grew = {
            kind: self._head.replace(b"%", b"%%")
            + b',"choices":[{"index":0,"delta":{"%b":%%b},"finish_reason":null}]}\n\n' % field.encode()
            for kind, field in FIELDS.items()
        }
        self._has_text = False

    def encode(self, parts: Sequence[Part]) -> bytes:
        frames: list[bytes] = []
        for part in parts:
            if type(part) is Grew:
                frames.append(self._grew[part.span.kind] % part.text)
            else:
                frames += self._of(part)
        return b"".join(frames)

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        self._usage.waits()
        frames: list[bytes] = []
        if asks := asks_approval(waits_for, self._page):
            frames.append(self._text(("\n\n" if self._has_text else "") + asks))
        calls = self._calls(waits_for)
        if calls:
            frames.append(self._chunk({"tool_calls": [{"index": n, **call} for n, call in enumerate(calls)]}))
        frames += self._end("tool_calls" if calls else "stop", self._used(None))
        return b"".join(frames)

    def trouble(self, error: GatewayError) -> bytes:
        return b"data: %b\n\n" % error_body(error.code, error.message)

    def _of(self, part: Part) -> Iterator[bytes]:
        self._usage.count(part)
        match part:
            case TurnBegan():
                self._has_text = False
                yield self._chunk({"role": "assistant", "content": ""})
            case Opened(span) if span.kind == "text":
                if self._has_text:
                    yield self._text("\n\n")
                self._has_text = True
            case AttemptWithdrawn(_, spans) if any(span.kind == "text" for span in spans):
                yield self._text(f"\n\n{STARTS_OVER}")
            case Noted("retrieval", data) if cited := _citations(data):
                yield self._chunk({"annotations": cited})
            case TurnEnded(data):
                if part.failure is not None:
                    yield b"data: %b\n\n" % error_body(*part.failure)
                else:
                    yield from self._end(_reason(data), self._used(part))
            case _:
                pass

    def _text(self, text: str) -> bytes:
        return self._grew["text"] % orjson.dumps(text)

    def _chunk(self, delta: Json, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return self._head + b',"choices":[%b]}\n\n' % orjson.dumps(choice)

    def _end(self, reason: str, usage: Json) -> Iterator[bytes]:
        yield self._chunk({}, reason)
        if self._with_usage:
            yield self._head + b',"choices":[],"usage":%b}\n\n' % orjson.dumps(usage)
        yield DONE


class WholeCompletion(_Completion):
    """Collects a turn for an answer in one piece. The text of discarded attempts is not in it."""

    def __init__(self, turn_id: str, model: str, created: int, page: str) -> None:
        super().__init__(turn_id, model, created, page)
        self.failure: tuple[str, str] | None = None
        self._texts: dict[str, list[str]] = {}
        self._kinds: dict[str, str] = {}
        self._cited: list[Json] = []
        self._calls_made: list[Json] = []
        self._reason = "stop"
        self._total: Json = {}

    def encode(self, parts: Sequence[Part]) -> bytes:
        for part in parts:
            self._take(part)
        return b""

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        self._usage.waits()
        if asks := asks_approval(waits_for, self._page):
            self._texts["asks"], self._kinds["asks"] = [asks], "text"
        self._calls_made = self._calls(waits_for)
        self._reason = "tool_calls" if self._calls_made else "stop"
        self._total = self._used(None)
        return b""

    def trouble(self, error: GatewayError) -> bytes:
        self.failure = error.code, error.message
        return b""

    def text(self, kind: str = "text") -> str:
        spans = (
            self._texts[each]
            for each, is_kind in self._kinds.items()
            if is_kind == kind and each in self._texts
        )
        texts = map("".join, spans)
        return "\n\n".join(map(without_thinking, texts) if kind == "text" else texts)

    def body(self) -> bytes:
        message: Json = {"role": "assistant", "content": self.text() or None, "refusal": None}
        if thinking := self.text("thinking"):
            message["reasoning_content"] = thinking
        if self._cited:
            message["annotations"] = self._cited
        if self._calls_made:
            message["tool_calls"] = self._calls_made
        elif message["content"] is None:
            message["content"] = ""
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._reason}
        return orjson.dumps(
            {**self.about, "object": "chat.completion", "choices": [choice], "usage": self._total}
        )

    def _take(self, part: Part) -> None:
        self._usage.count(part)
        match part:
            case TurnBegan():
                self._texts.clear()
                self._cited.clear()
                self._calls_made = []
            case Opened(span):
                self._texts[span.id], self._kinds[span.id] = [], span.kind
            case Grew(span, text):
                self._texts[span.id].append(orjson.loads(text))
            case AttemptWithdrawn(_, spans):
                for span in spans:
                    self._texts.pop(span.id, None)
            case Noted("retrieval", data):
                self._cited += _citations(data)
            case TurnEnded(data):
                self.failure = part.failure
                self._reason = _reason(data)
                self._total = self._used(part)
            case _:
                pass


def usage_of(used: Sequence[Data]) -> Json:
    """In this dialect the tokens of the prompt include those of its cache."""
    read = sum(each.get("cache_read_input_tokens", 0) for each in used)
    written = sum(each.get("cache_creation_input_tokens", 0) for each in used)
    prompt = sum(each["input_tokens"] for each in used) + read + written
    answer = sum(each["output_tokens"] for each in used)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
    }


def error_body(code: str, message: str, param: str | None = None, kind: str | None = None) -> bytes:
    """A failure as the SDKs read it."""
    if kind is None:
        status = STATUSES.get(code, 502)
        kind = {429: "rate_limit_error", 400: "invalid_request_error"}.get(status, "server_error")
    return orjson.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


def _reason(data: Data) -> str:
    if data["status"] == "limit_reached":
        return "length"
    return REASONS.get(data.get("stop_reason"), "stop") if data["status"] == "completed" else "stop"


def _citations(data: Data) -> list[Json]:
    if "mode" in data:  # memories are no sources to be quoted
        return []
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "url": hit["source"],
                "title": hit.get("title") or hit["id"],
                "start_index": 0,
                "end_index": 0,
            },
        }
        for hit in data.get("results", ())
        if hit["source"].startswith(("https://", "http://"))
    ]
