"""How a turn looks in a terminal: the answer on stdout, everything around it as dim lines on stderr."""

import sys
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

from gateway.cli.frames import Frame
from gateway.messages import shortened

NOTE_WIDTH = 160  # characters, where there is no terminal to fit
SNIPPETS, SNIPPET_WIDTH = 3, 40
"""Memories that a line tells of, and the characters of each."""
EXIT_CODES = {"completed": 0, "cancelled": 130}
_CONTROL = {code: None for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """`text` without control characters: what a model or a tool says must not steer the terminal."""
    return text.translate(_CONTROL)


class Transcript:
    """Shows the frames of one turn in order. `exit_code` tells how it ended, 1 until it has."""

    def __init__(self, *, raw: bool) -> None:
        self.exit_code = 1
        self._raw = raw
        self._notes = Console(stderr=True, highlight=False)
        self._mid_line = False

    def show(self, frame: Frame) -> None:
        event = frame.load()
        if frame.event == "done":
            self.exit_code = EXIT_CODES.get(event["data"].get("status"), 1)
        if self._raw:
            sys.stdout.buffer.write(frame.data + b"\n")
            sys.stdout.buffer.flush()
        elif frame.event == "text":
            self._print(printable(event["data"]["text"]))
        else:
            line = describe(frame.event, event["data"])
            if frame.event == "done":
                self._end_line()
            if line:
                self._note(line)

    def _print(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
        self._mid_line = not text.endswith("\n")

    def _note(self, line: str) -> None:
        self._end_line()
        text = Text(" ".join(printable(line).split()), style="dim")
        text.truncate(self._notes.width if self._notes.is_terminal else NOTE_WIDTH, overflow="ellipsis")
        self._notes.print(text, soft_wrap=True)

    def _end_line(self) -> None:
        if self._mid_line:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._mid_line = False


def describe(event_type: str, data: dict[str, Any]) -> str | None:  # noqa: PLR0911 - a line for each
    """One line about an event that is not text, None for those a reader need not see."""
    match event_type:
        case "turn_start" if files := data.get("attachments"):
            return f"📎 {names_of(files)}"
        case "retrieval":
            return f"⌕ {data['source']}: {found(data)}"
        case "tool_call":
            return f"→ {data['name']} {orjson.dumps(data['arguments']).decode()}"
        case "tool_progress":
            share = f" {data['progress']:.0%}" if "progress" in data else ""
            return f"…{share} {data.get('message', '')}".rstrip()
        case "tool_result":
            return f"← {data['name']} {data['status']} in {data['duration_ms']} ms: {data['content']}"
        case "approval_request":
            return f"? {data['name']} waits for approval"
        case "iteration_superseded":
            return f"↻ Starting this part again, please ignore what it said so far: {data['reason']}"
        case "memory":
            return f"✎ {data['op']} ({data['kind']}): {data.get('content', data['memory_id'])}"
        case "warning":
            return f"! {data['message']}"
        case "error":
            again = " Asking again may help." if data["retryable"] else ""
            return f"✗ {data['message'].rstrip('.')}.{again}"
        case "done" if data["status"] != "completed":
            return {"cancelled": "■ stopped", "limit_reached": "■ stopped at a limit"}.get(
                data["status"], f"■ {data['status']}"
            )
        case _:
            return None


def names_of(files: list[dict[str, Any]]) -> str:
    """What was attached, by name."""
    return ", ".join(str(each["name"]) for each in files)


def found(data: dict[str, Any]) -> str:
    """What a retrieval event found: titles, or of memories their number and the first of them."""
    results: list[dict[str, Any]] = data["results"]
    if data["source"] != "memory":
        titles = ", ".join(str(hit.get("title") or hit["source"]) for hit in results)
        return f"“{data['query']}” found {titles}"
    # Of many, the event tells only the first: the others stand in the prompt as well.
    standing = f"{len(results)}{'+' if data.get('omitted') else ''} in the prompt"
    where = standing if data.get("mode") == "snapshot" else f"{len(results)} looked up"
    snippets = [shortened(" ".join(hit["snippet"].split()), SNIPPET_WIDTH) for hit in results[:SNIPPETS]]
    return f"{where}: {'; '.join([*snippets, '…'] if len(results) > SNIPPETS else snippets)}"
