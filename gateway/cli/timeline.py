"""How a replayed turn looks in a terminal: every step with the time at which it happened."""

from datetime import UTC, datetime
from typing import Any, TextIO

from gateway.cli.turn_view import describe, printable
from gateway.ids import OPERATION_PREFIX
from gateway.messages import shortened

WIDTH = 200
"""Characters of a line about a step; the answer itself is never cut."""


class Timeline:
    """Writes events, in order, as they are given. Times are since the beginning of their turn, or of what
    is shown of it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._turn: str | None = None
        self._began = 0
        self._writing: str | None = None
        self._ends_line = True

    def show(self, event: dict[str, Any]) -> None:
        data, kind = event["data"], event["type"]
        if event["turn_id"] != self._turn:
            self._begin(event)
        if kind in {"text", "thinking"}:
            self._stream(event, printable(data["text"]))
            return
        for line in lines_about(event):
            self._note(event, line)

    def end(self) -> None:
        """Nothing comes after."""
        self._close_text()
        self._out.flush()

    def _begin(self, event: dict[str, Any]) -> None:
        self._close_text()
        self._turn, self._began = event["turn_id"], event["ts"]
        data = event["data"]
        about = f" · {printable(str(data['model']))}" if event["type"] == "turn_start" else ""
        if not about and not event["turn_id"].startswith(OPERATION_PREFIX):
            about = f" · from event {event['seq']} on"
        self._out.write(f"\n── {event['turn_id']}{about} · {moment(event['ts'])} ──\n")

    def _stream(self, event: dict[str, Any], text: str) -> None:
        if self._writing != event["type"]:
            self._note(event, "thinking:" if event["type"] == "thinking" else "answer:")
            self._writing = event["type"]
        self._out.write(text)
        self._out.flush()
        self._ends_line = text.endswith("\n")

    def _note(self, event: dict[str, Any], line: str) -> None:
        self._close_text()
        text = shortened(" ".join(printable(line).split()), WIDTH)
        self._out.write(f"{offset(event['ts'] - self._began)}  {text}\n")
        self._out.flush()

    def _close_text(self) -> None:
        if self._writing is not None and not self._ends_line:
            self._out.write("\n")
        self._writing, self._ends_line = None, True


def lines_about(event: dict[str, Any]) -> list[str]:
    """What is told of an event that is not a piece of text; nothing of some."""
    data, kind = event["data"], event["type"]
    match kind:
        case "turn_start":
            files = describe(kind, data)
            place = placed(data)
            return [*([f"↳ {place}"] if place else []), f"› {data['input']}", *([files] if files else [])]
        case "iteration_start":
            again = f", attempt {data['attempt']}" if data["attempt"] > 1 else ""
            return [f"◦ model call {event.get('iteration', '?')}{again}: {data['model']}"]
        case "iteration_end":
            return [f"◦ model call {event.get('iteration', '?')} done: {measured(data)}"]
        case "done":
            line = describe(kind, data)
            count = f"{data['iterations']} model calls" if data["iterations"] != 1 else "1 model call"
            return [f"{line or '■ ' + data['status']}: {count}, {measured(data)}"]
        case "compression":
            return [f"▣ {compression_words(data)}"]
        case _:
            return [line] if (line := describe(kind, data)) else []


def placed(data: dict[str, Any]) -> str | None:
    """Where a turn was asked, from the data of its `turn_start`; None: here, after the one before it."""
    parent = data.get("parent_turn_id")
    if parent == "root":
        return "another branch, from the beginning"
    if parent is not None:
        return f"another branch, after turn {parent}"
    return "brought along by the client" if data.get("seeded") else None


def compression_words(data: dict[str, Any]) -> str:
    """One line about a compression event."""
    words = f"compression {data['phase']}"
    if "version" in data:
        words += f", version {data['version']}"
    if covers := data.get("covers"):
        words += f", messages {covers['first']} to {covers['last']}"
    if "tokens_before" in data and "tokens_after" in data:
        words += f", {data['tokens_before']} → {data['tokens_after']} tokens"
    if "reason" in data:
        words += f": {data['reason']}"
    return words


def measured(data: dict[str, Any]) -> str:
    """How long something took and what it used; what is not known is said to be unknown."""
    parts: list[str] = []
    if "ttft_ms" in data:
        parts.append(f"first token after {data['ttft_ms']} ms")
    if "duration_ms" in data:
        parts.append(f"{data['duration_ms'] / 1000:.2f} s")
    return ", ".join([*parts, usage_words(data.get("usage")), cost_words(data.get("cost"))])


def usage_words(usage: dict[str, int] | None) -> str:
    if usage is None:
        return "usage unknown"
    words = f"{usage['input_tokens']} tokens in, {usage['output_tokens']} out"
    if cached := usage.get("cache_read_input_tokens", 0):
        words += f", {cached} from cache"
    if written := usage.get("cache_creation_input_tokens", 0):
        words += f", {written} to cache"
    return words


def cost_words(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:.6f}"


def offset(milliseconds: int) -> str:
    """A time since the beginning of a turn."""
    return f"{milliseconds / 1000:+9.2f} s"


def moment(ts: int) -> str:
    """A time of day in UTC."""
    return datetime.fromtimestamp(ts / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
