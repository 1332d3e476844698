"""The parts of a turn that a shared session shows: messages, tool calls, sources and the outcome. Memories of
the user are left out, as are thinking, costs and ids."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from gateway.memory.retrieval_events import SOURCE
from gateway.memory.tool import NAME
from gateway.session_pages.replayed_turn import ReplayedTurn
from gateway.session_pages.words import describe
from gateway.thinking_in_text import without_thinking


class SharedPages(NamedTuple):
    """A way to write such a session: how its file begins, from the server's description of the session; a
    turn; how the file ends; what stands behind the dot of its name, and its type."""

    begin: Callable[[dict[str, Any]], str]
    draw: Callable[[ReplayedTurn], str]
    ending: str
    suffix: str
    media_type: str


@dataclass(frozen=True, slots=True)
class SharedText:
    """A part of the answer, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class UsedTool:
    """A tool call: its arguments as JSON, and its result if it has one."""

    title: str
    arguments: str
    content: str | None


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources that were found for a query: title or name, and snippet."""

    title: str
    sources: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Remark:
    """A line about how it went."""

    line: str


Shared = SharedText | UsedTool | Sources | Remark


def shared(turn: ReplayedTurn) -> Iterator[Shared]:
    """In order; nothing of an attempt that was made anew."""
    for step in turn.steps:
        data = step.data
        match step.kind:
            case "text" if not step.dropped and (said := without_thinking(data["text"])):
                yield SharedText(said)
            case "tool_call" if data["name"] != NAME:
                yield _called(data, step.result)
            case "retrieval" if data["source"] != SOURCE:
                hits = [
                    (str(hit.get("title") or hit["source"]), str(hit["snippet"])) for hit in data["results"]
                ]
                yield Sources(f"⌕ {data['source']}: {data['query']}", hits)
            case "error":
                yield Remark(describe(step.kind, data) or step.kind)
            case _:
                pass
    if turn.done is not None and (line := describe("done", turn.done)) is not None:
        yield Remark(line)


def _called(call: dict[str, Any], result: dict[str, Any] | None) -> UsedTool:
    arguments = orjson.dumps(call["arguments"], option=orjson.OPT_INDENT_2).decode()
    if result is None:
        return UsedTool(f"→ {call['name']}", arguments, None)
    return UsedTool(f"→ {call['name']}: {result['status']}", arguments, str(result["content"]))
