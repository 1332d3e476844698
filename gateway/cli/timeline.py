"""How a replayed turn looks in a terminal: every step with the time at which it happened."""

from typing import Any, TextIO

from gateway.ids import OPERATION_PREFIX
from gateway.messages import shortened
from gateway.session_pages.words import (
    compression_words,
    describe,
    measured,
    moment,
    offset,
    placed,
    printable,
)

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
        is_of_former = kind == "feedback" and self._turn not in {None, event["turn_id"]}
        if event["turn_id"] != self._turn and not is_of_former:
            self._begin(event)
        if kind in {"text", "thinking"}:
            self._stream(event, printable(data["text"]))
            return
        for line in lines_about(event):
            self._note(event, f"{line} · turn {event['turn_id']}" if is_of_former else line)

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
    """The lines for an event that is not a piece of text; none for some types."""
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
