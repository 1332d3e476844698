"""The events of a shared session: what a reader of it is shown, and nothing else. Memories of the user are
left out, as are thinking, costs, ids, who asked, and what an attempt said that was made anew. Nothing else
decides what leaves."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gateway.memory.retrieval_events import SOURCE
from gateway.memory.tool import NAME
from gateway.thinking_in_text import without_thinking

Event = dict[str, Any]
Data = Mapping[str, Any]

SESSION = "shared"
CLOSING = frozenset({"thinking", "tool_call", "iteration_start", "iteration_end", "error", "done"})
"""Behind which a text is another one."""
FIELDS: Mapping[str, tuple[str, ...]] = {
    "turn_start": ("input", "model", "seeded"),
    "tool_call": ("name", "arguments"),
    "tool_result": ("name", "status", "content"),
    "retrieval": ("query", "source", "omitted", "degraded"),
    "artifact": ("name", "kind", "mime", "size", "lines", "summary"),
    "error": ("code", "message"),
    "done": ("status", "stop_reason", "duration_ms", "iterations"),
}
"""What stays of an event of each type; the other types are left out."""
OF_A_HIT = ("title", "source", "snippet")
OF_A_FILE = ("name", "mime", "size")
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_PICTURE, MAX_PICTURES = 5_242_880, 8_388_608
"""Bytes of a picture that goes along, and of all of them together."""


class Picture(NamedTuple):
    """A picture of the session: how the shared events name it, its reference, its type."""

    name: str
    ref: str
    mime: str


class Pictures:
    """Those that go along with a session's events: as many as there is room for, each once."""

    def __init__(self) -> None:
        self.wanted: list[Picture] = []
        self._room = MAX_PICTURES
        self._seen = set[str]()

    def look(self, event: Event) -> None:
        """Remembers the pictures that an event shows, by their references."""
        data = event["data"]
        shown = {"turn_start": data.get("attachments") or (), "artifact": (data,)}
        for each in shown.get(event["type"], ()):
            self.add(str(each.get("ref", "")), each)

    def add(self, name: str, artifact: Data) -> None:
        """Remembers an artifact that the events name so, if it is a picture."""
        ref, size, mime = str(artifact.get("ref", "")), artifact.get("size", 0), str(artifact.get("mime", ""))
        if not ref or ref in self._seen or mime not in PICTURES or size > min(MAX_PICTURE, self._room):
            return
        self._seen.add(ref)
        self._room -= size
        self.wanted.append(Picture(name, ref, mime))


class Text:
    """A part of an answer that grows."""

    def __init__(self, ts: int) -> None:
        self.ts = ts
        self.pieces: list[str] = []


class SharedEvents:
    """Makes the events of one session anew, turn by turn, with numbers in the place of all ids. `pictures`
    are those that the events so far show."""

    def __init__(self) -> None:
        self.pictures = Pictures()
        self._seq = 0
        self._turns = 0
        self._calls = 0
        self._refs: dict[str, str] = {}

    def of_turn(self, events: Iterable[Event]) -> list[Event]:
        """A turn's events, in their order, to those of it that are shared."""
        self._turns += 1
        turn, calls = f"turn-{self._turns}", dict[str, str]()
        hidden, shared = set[str](), list[Event]()
        for kind, event in _told(events):
            call = event.get("tool_call_id")
            if kind == "tool_call" and event["data"]["name"] == NAME:
                hidden.add(call or "")
            if call in hidden or (data := self._told(kind, event["data"])) is None:
                continue
            self._seq += 1
            made: Event = {
                "v": 1,
                "seq": self._seq,
                "type": kind,
                "ts": event["ts"],
                "session_id": SESSION,
                "turn_id": turn,
            }
            if kind == "text":
                made["iteration"] = self._seq  # so that each is a part of its own
            if call is not None:
                if call not in calls:
                    self._calls += 1
                    calls[call] = f"call-{self._calls}"
                made["tool_call_id"] = calls[call]
            shared.append(made | {"data": data})
        return shared

    def _told(self, kind: str, data: Data) -> dict[str, Any] | None:
        if kind == "text":
            return dict(data)
        if kind not in FIELDS or (kind == "retrieval" and data["source"] == SOURCE):
            return None
        told = _fields(data, FIELDS[kind])
        if kind == "turn_start":
            if data.get("dialect") == "schedule":
                told["dialect"] = "schedule"
            if files := data.get("attachments"):
                told["attachments"] = [_fields(each, OF_A_FILE) | self._named(each) for each in files]
        elif kind == "retrieval":
            told["results"] = [
                {"id": str(place), **_fields(hit, OF_A_HIT)} for place, hit in enumerate(data["results"], 1)
            ]
        elif kind == "artifact":
            told |= self._named(data)
        elif kind == "error":
            told["retryable"] = False  # not from a file
        return told

    def _named(self, artifact: Data) -> dict[str, str]:
        """A reference for the artifact that is none to anybody; a picture is remembered by it."""
        ref = str(artifact.get("ref", ""))
        if ref not in self._refs:
            self._refs[ref] = f"file-{len(self._refs) + 1}"
        self.pictures.add(self._refs[ref], artifact)
        return {"ref": self._refs[ref]}


def _fields(data: Data, names: Iterable[str]) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}


def _told(events: Iterable[Event]) -> Iterator[tuple[str, Event]]:
    """The events with each text whole, without what is thought in it, and without the texts of attempts that
    were superseded."""
    found: list[tuple[str, Event] | Text] = []
    attempt, text = 0, None
    for event in events:
        kind = str(event["type"])
        if kind == "text":
            if text is None:
                found.append(text := Text(event["ts"]))
            text.pieces.append(event["data"]["text"])
            continue
        if kind in CLOSING or kind == "iteration_superseded":
            text = None
        if kind == "iteration_start":
            attempt = len(found)
        elif kind == "iteration_superseded":
            found[attempt:] = [each for each in found[attempt:] if not isinstance(each, Text)]
        else:
            found.append((kind, event))
    for each in found:
        if not isinstance(each, Text):
            yield each
        elif said := without_thinking("".join(each.pieces)):
            yield "text", {"ts": each.ts, "data": {"text": said}}
