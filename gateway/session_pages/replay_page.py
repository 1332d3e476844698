"""A session as one HTML file that needs nothing else: no script, no request, everything in it escaped."""

import base64
import hashlib
from collections.abc import Callable, Generator, Iterable
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from gateway.ids import OPERATION_PREFIX
from gateway.session_pages.replayed_turn import ReplayedStep, ReplayedTurn, read_turn
from gateway.session_pages.words import (
    compression_words,
    cost_words,
    describe,
    measured,
    moment,
    offset,
    printable,
    usage_words,
)

STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'"
CLOSING = "</body>\n</html>\n"
BAR = 8
"""Height of a bar of the timings, in units of which the whole is 1000 wide."""


def write_page(session: dict[str, Any], events: Iterable[dict[str, Any]]) -> Generator[str]:
    """The page in pieces, a turn at a time. `session` is the server's description of it, `events` are all or
    some of its events, in order."""
    yield opening(session, f"Session {session['id']}, made {moment(session['created_at'])}")
    for turn_id, of_turn in groupby(events, key=_place()):
        yield _turn(read_turn(turn_id, of_turn))
    yield CLOSING


def opening(session: dict[str, Any], about: str) -> str:
    """How a page begins, with a line about the session."""
    title = text(session.get("title") or session["id"])
    return (
        '<!doctype html>\n<html lang="und">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{title}</h1>\n<p class="dim">{text(about)}</p>\n'
    )


def _place() -> Callable[[dict[str, Any]], str]:
    """The turn that an event is shown with: of feedback the one before it in the log."""
    turn_id = ""

    def place(event: dict[str, Any]) -> str:
        nonlocal turn_id
        if event["type"] != "feedback" or not turn_id:
            turn_id = event["turn_id"]
        return turn_id

    return place


def text(value: object) -> str:
    """Anything as text that is only text to a browser."""
    return escape(printable(str(value)), quote=True)


def _turn(turn: ReplayedTurn) -> str:
    name = "Between turns" if turn.id.startswith(OPERATION_PREFIX) else "Turn"
    parts = [
        f'<article id="{text(turn.id)}">\n<header><h2>{name} {text(turn.id)}</h2> '
        f"<time>{moment(turn.began)}</time>",
    ]
    if turn.model:
        parts.append(f' <span class="dim">{text(turn.model)}</span>')
    if turn.place is not None:
        parts.append(f' <span class="dim">{text(turn.place)}</span>')
    if turn.done is not None:
        bad = "" if turn.done["status"] == "completed" else " bad"
        parts.append(f' <span class="badge{bad}">{text(turn.done["status"])}</span>')
    parts.append("</header>\n")
    if turn.input is not None:
        parts.append(paragraph(turn.input, "user") + "\n")
    if turn.files:
        parts.append(paragraph(f"📎 {', '.join(turn.files)}", "user") + "\n")
    parts.append(_bars(turn))
    parts += [_step(turn, step) for step in turn.steps]
    if turn.done is not None:
        parts.append(f'<p class="dim">{_sum(turn.done)}</p>\n')
    return "".join([*parts, "</article>\n"])


def _sum(done: dict[str, Any]) -> str:
    calls = f"{done['iterations']} model calls" if done["iterations"] != 1 else "1 model call"
    seconds = f"{done['duration_ms'] / 1000:.2f} s"
    return text(f"{calls}, {seconds}, {usage_words(done.get('usage'))}, {cost_words(done.get('cost'))}")


def _bars(turn: ReplayedTurn) -> str:
    """Model calls and tools, one under the other, over the time of the turn."""
    whole = max(turn.ended - turn.began, 1)
    if not turn.spans:
        return ""
    bars = [
        f'<rect class="{kind}" x="{(start - turn.began) * 1000 / whole:.1f}" y="{row * BAR + 1}" '
        f'width="{max((end - start) * 1000 / whole, 2):.1f}" height="{BAR - 2}">'
        f"<title>{text(name)}: {(end - start) / 1000:.2f} s</title></rect>"
        for row, (kind, name, start, end) in enumerate(turn.spans)
    ]
    height = BAR * len(turn.spans)
    return (
        f'<svg class="bars" viewBox="0 0 1000 {height}" role="img" '
        f'aria-label="Model calls and tools over {whole / 1000:.2f} s">{"".join(bars)}</svg>\n'
    )


def _step(turn: ReplayedTurn, step: ReplayedStep) -> str:
    body = _body(step)
    if body is None:
        return ""
    dropped = ' class="dropped"' if step.dropped else ""
    at = offset(step.at - turn.began).strip()
    return f'<div class="step"><span class="at">{at}</span><div{dropped}>{body}</div></div>\n'


def _body(step: ReplayedStep) -> str | None:  # noqa: PLR0911 - one for each kind
    data = step.data
    match step.kind:
        case "text":
            return paragraph(data["text"])
        case "thinking":
            return details("Thinking", paragraph(data["text"]))
        case "tool_call":
            return _tool(data, step.result)
        case "retrieval":
            hits = "".join(_hit(hit) for hit in data["results"])
            return details(f"⌕ {data['source']}: {data['query']}", f"<ol>{hits}</ol>")
        case "compression":
            return note(f"▣ {compression_words(data)}", bad=data["phase"] == "failed")
        case "iteration_end":
            return note(f"model call {step.iteration}: {measured(data)}")
        case "feedback":
            return note(f"{describe(step.kind, data)} · turn {step.turn_id}")
        case "error" | "warning" | "iteration_superseded":
            return note(describe(step.kind, data) or step.kind, bad=step.kind == "error")
        case _:
            line = describe(step.kind, data)
            return note(line) if line else None


def _tool(call: dict[str, Any], result: dict[str, Any] | None) -> str:
    arguments = orjson.dumps(call["arguments"], option=orjson.OPT_INDENT_2).decode()
    inside = f"<pre>{text(arguments)}</pre>"
    if result is None:
        return details(f"→ {call['name']}", inside)
    inside += f'<pre dir="auto">{text(result["content"])}</pre>'
    return details(f"→ {call['name']}: {result['status']} in {result['duration_ms']} ms", inside)


def _hit(hit: dict[str, Any]) -> str:
    title = hit.get("title") or hit["source"]
    return f'<li><strong>{text(title)}</strong> <span class="dim">{text(hit["source"])}, score ' + (
        f"{text(hit['score'])}</span>{paragraph(hit['snippet'])}</li>"
    )


def paragraph(words: str, kind: str = "") -> str:
    """A person's or model's text, as it was written."""
    about = f"said {kind}".strip()
    return f'<div class="{about}" dir="auto">{text(words)}</div>'


def details(summary: str, inside: str) -> str:
    """Something to unfold; `inside` is HTML."""
    return f"<details><summary>{text(summary)}</summary>{inside}</details>"


def note(line: str, *, bad: bool = False) -> str:
    """A line about how it went."""
    return f'<div class="note{" bad" if bad else ""}" dir="auto">{text(line)}</div>'
