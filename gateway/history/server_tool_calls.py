"""Calls of tools that the endpoint runs itself, and their results, which stand in the model's own messages. A
call without its result is refused in a conversation that has gone on (platform.claude.com "Server tools"):
after a stop at `pause_turn`, or a limit, there is none. Pure."""

from collections.abc import Sequence

from gateway.messages import Message

CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


def without_halves(messages: list[Message], *, open_from: int) -> list[Message]:
    """The messages without calls that have no result, and results that have no call; the same object when
    there are none. Calls in messages from `open_from` on may still get theirs."""
    halves = _halves(messages, open_from)
    if not halves:
        return messages
    return [
        Message(
            message.role, [block for at, block in enumerate(message.content) if (place, at) not in halves]
        )
        for place, message in enumerate(messages)
    ]


def _halves(messages: Sequence[Message], open_from: int) -> set[tuple[int, int]]:
    """Their places: the message, and the block in it. An endpoint may use an id again."""
    open_calls: dict[str, tuple[int, int]] = {}
    lone = set[tuple[int, int]]()
    for place, message in enumerate(messages):
        if message.role != "assistant":
            continue
        for at, block in enumerate(message.content):
            kind = block["type"]
            if kind in CALLS:
                name = str(block.get("id"))
                if (before := open_calls.get(name)) is not None:
                    lone.add(before)
                open_calls[name] = place, at
            elif (
                kind.endswith("_tool_result") and open_calls.pop(str(block.get("tool_use_id")), None) is None
            ):
                lone.add((place, at))
    return lone | {each for each in open_calls.values() if each[0] < open_from}
