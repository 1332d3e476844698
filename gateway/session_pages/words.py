"""What people read about events: a line for each, and words for what was used, when and where."""

import re
from datetime import UTC, datetime
from typing import Any

import orjson

from gateway.messages import shortened

SNIPPETS, SNIPPET_WIDTH = 3, 40
"""Memories in a line, and the characters of each."""
RATINGS = {"up": "▲ rated good", "down": "▼ rated bad", "none": "△ rating taken back"}
# With those of bidirectional text: embeddings, overrides and isolates (UAX #9, 2.1 to 2.4).
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """`text` without control characters: a model's or a tool's text must not steer the terminal, nor show in
    another order than it has."""
    return _CONTROL.sub("", text)


def describe(event_type: str, data: dict[str, Any]) -> str | None:  # noqa: PLR0911, PLR0912 - a line for each
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
        case "title":
            return f"≡ title: {data['title']}"
        case "feedback":
            reason = f": {data['reason']}" if "reason" in data else ""
            return f"{RATINGS[data['rating']]} ({data['of']}){reason}"
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
    """How long something took and what it used; unknown values are shown as unknown."""
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
