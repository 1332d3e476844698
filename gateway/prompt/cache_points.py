"""Where the provider may cache: at most four breakpoints, on copies of the blocks.

The provider hashes tools, then system, then messages, and a breakpoint covers everything before it
(Anthropic, "Prompt caching": at most 4 breakpoints; a lookup goes back at most 20 blocks from each). So one
at the end of the system prompt's fixed part covers the tools too, and of the messages two matter: the newest,
which is written, and the user message before it, where the previous call of this session wrote.
"""

from collections.abc import Sequence

from gateway.messages import Block, Message

_ELIGIBLE = frozenset({"text", "tool_use", "tool_result", "image", "document"})
_MARK = {"type": "ephemeral"}


def mark_system(blocks: Sequence[Block], fixed: int) -> tuple[Block, ...]:
    """`blocks` with a breakpoint after the first `fixed` of them, and one at the end."""
    plain = [_without_mark(block) for block in blocks]
    for end in {fixed, len(plain)}:
        place = _last_eligible(plain[:end])
        if place is not None:
            plain[place] = _with_mark(plain[place])
    return tuple(plain)


def mark_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """`messages` with a breakpoint in the newest one and in the user message before it."""
    plain = [_unmarked(message) for message in messages]
    if not plain:
        return ()
    earlier = [place for place, message in enumerate(plain[:-1]) if message.role == "user"]
    for place in {*earlier[-1:], len(plain) - 1}:
        plain[place] = _marked(plain[place])
    return tuple(plain)


def _marked(message: Message) -> Message:
    place = _last_eligible(message.content)
    if place is None:
        return message
    blocks = list(message.content)
    blocks[place] = _with_mark(blocks[place])
    return Message(message.role, tuple(blocks))


def _unmarked(message: Message) -> Message:
    if not any("cache_control" in block for block in message.content):
        return message
    return Message(message.role, tuple(_without_mark(block) for block in message.content))


def _last_eligible(blocks: Sequence[Block]) -> int | None:
    """The last block that may carry a breakpoint: not thinking, not empty text, no type we do not know."""
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        kind = block.get("type")
        if kind == "text" and not str(block.get("text", "")).strip():
            continue
        if kind in _ELIGIBLE:
            return place
    return None


def _with_mark(block: Block) -> Block:
    return {**block, "cache_control": dict(_MARK)}


def _without_mark(block: Block) -> Block:
    return {key: value for key, value in block.items() if key != "cache_control"}
