"""A session to share as one Markdown file: the answers word for word, as the model wrote them, between the
messages of the user. What a program makes of HTML and images in them is that program's."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from gateway.session_pages.shared_events import Event
from gateway.session_pages.words import describe, moment, printable

_SIGNS = re.compile(r"([\\`*_\[\]<>#|~&])")
_TICKS = re.compile(r"`{3,}")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


def begin(session: dict[str, Any]) -> str:
    """How the file begins. `session` is the server's description of it."""
    return f"# {line(session.get('title') or session['id'])}\n\nMade {moment(session['created_at'])}\n"


def draw(events: Iterable[Event]) -> str:
    """A turn's shared events: the user's words as a quotation, then the answer."""
    told, parts = list(events), list[str]()
    results = {each["tool_call_id"]: each["data"] for each in told if each["type"] == "tool_result"}
    for event in told:
        parts += _drawn(event, results.get(event.get("tool_call_id", "")))
    return "\n" + "\n\n".join(parts) + "\n" if parts else ""


def line(words: str) -> str:
    """A line of text in which no sign means anything."""
    return _SIGNS.sub(r"\\\1", " ".join(printable(words).split()))


def closed(markdown: str) -> str:
    """The same Markdown, with an end behind it where it leaves a block of code open, so that nothing that
    follows is in that block."""
    mark = ""
    for found in _FENCE.finditer(markdown):
        fence, rest = found[1], found[2]
        if not mark:
            mark = fence if fence[0] == "~" or "`" not in rest else ""
        elif fence.startswith(mark) and not rest.strip():
            mark = ""
    return f"{markdown}\n{mark}" if mark else markdown


def _drawn(event: Event, result: dict[str, Any] | None) -> Iterator[str]:
    data = event["data"]
    match event["type"]:
        case "turn_start":
            yield f"---\n\n**User** · {moment(event['ts'])}"
            yield _quoted(data["input"])
            if files := data.get("attachments"):
                yield "\n".join(f"- 📎 {line(each['name'])}" for each in files)
            yield f"**Assistant** · {line(data['model'])}" if data.get("model") else "**Assistant**"
        case "text":
            yield closed(data["text"])
        case "tool_call":
            arguments = orjson.dumps(data["arguments"], option=orjson.OPT_INDENT_2).decode()
            title = f"→ {data['name']}" + (f": {result['status']}" if result else "")
            content = [_fenced(str(result["content"]), "text")] if result else []
            yield _folded(title, "\n\n".join([_fenced(arguments, "json"), *content]))
        case "retrieval":
            hits = (
                f"- **{line(_title(hit))}**\n\n{_quoted(hit['snippet'], '  ')}" for hit in data["results"]
            )
            yield _folded(f"⌕ {data['source']}: {data['query']}", "\n".join(hits))
        case "artifact" if data.get("name"):
            yield f"- 📎 {line(data['name'])}"
        case "error" | "done" if words := describe(event["type"], data):
            yield f"_{line(words)}_"
        case _:
            pass


def _title(hit: dict[str, Any]) -> str:
    return str(hit.get("title") or hit["source"])


def _quoted(markdown: str, indent: str = "") -> str:
    return "\n".join(f"{indent}> {each}" for each in markdown.split("\n"))


def _folded(title: str, inside: str) -> str:
    # Entities: within HTML some readers format Markdown, others do not.
    summary = _SIGNS.sub(lambda sign: f"&#{ord(sign[0])};", " ".join(printable(title).split()))
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _fenced(content: str, language: str) -> str:
    content = printable(content)
    longest = max((len(ticks) for ticks in _TICKS.findall(content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{content}\n{fence}"
