"""Calls of tools that the endpoint runs itself, and their results, which stand in the model's own messages. A
call without its result is refused in a conversation that has gone on (platform.claude.com "Server tools"):
after a stop at `pause_turn`, or a limit, there is none. Pure."""

from collections.abc import Sequence

from gateway.messages import Block, Message

CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


def without_halves(messages: Sequence[Message], *, open_from: int) -> Sequence[Message]:
    """The messages without calls that have no result, and results that have no call; the same object when
    there are none. Calls in messages from `open_from` on may still get theirs."""
    halves = _halves(messages, open_from)
    if not halves:
        return messages
    return [
        Message(message.role, [block for block in message.content if _half(block) not in halves])
        if message.role == "assistant"
        else message
        for message in messages
    ]


def _halves(messages: Sequence[Message], open_from: int) -> set[tuple[str, object]]:
    calls: dict[object, int] = {}
    results: set[object] = set()
    for place, message in enumerate(messages):
        if message.role == "assistant":
            for block in message.content:
                if (half := _half(block)) is not None:
                    kind, name = half
                    if kind == "call":
                        calls[name] = place
                    else:
                        results.add(name)
    lone = {("call", name) for name, place in calls.items() if name not in results and place < open_from}
    return lone | {("result", name) for name in results - calls.keys()}


def _half(block: Block) -> tuple[str, object] | None:
    kind = block["type"]
    if kind in CALLS:
        return "call", str(block.get("id"))
    if kind.endswith("_tool_result"):
        return "result", str(block.get("tool_use_id"))
    return None
