"""From stored messages to what the model sees: a pure fold whose result the Messages API always accepts."""

from collections.abc import Iterable, Sequence

from gateway.messages import Block, Message, text_block, tool_result_block

NO_RESULT = "No result was recorded for this call; it may or may not have happened. Verify before retrying."


def fold(stored: Iterable[Message]) -> list[Message]:
    """The messages to send, in order.

    Neighbours of one role are joined (a turn that failed leaves a user message without an answer), empty
    blocks are left out, every tool_use gets its tool_result in the message that follows, and results nobody
    asked for are left out. The result only grows at its end when messages are added at the end."""
    folded: list[Message] = []
    for message in stored:
        blocks = [block for block in message.content if not _is_empty(block)]
        if message.role == "assistant" and (not folded or all(_is_thinking(block) for block in blocks)):
            blocks = []  # the API wants a user's message first, and no message of thinking alone
        if message.role == "user":
            blocks = _answer(_open_calls(folded), blocks)
        elif _open_calls(folded):
            folded.append(Message("user", _answer(_open_calls(folded), [])))
        if not blocks:
            continue
        if folded and folded[-1].role == message.role:
            folded[-1] = Message(message.role, [*folded[-1].content, *blocks])
        else:
            folded.append(Message(message.role, blocks))
    if calls := _open_calls(folded):
        folded.append(Message("user", _answer(calls, [])))
    return folded


def problems(messages: Sequence[Message]) -> list[str]:
    """What the Messages API would refuse in `messages`; empty when they are valid."""
    found: list[str] = []
    if not messages or messages[0].role != "user":
        found.append("the first message is not the user's")
    expected: list[str] = []
    for index, message in enumerate(messages):
        if index and messages[index - 1].role == message.role:
            found.append(f"message {index} repeats the role {message.role}")
        if not message.content or any(_is_empty(block) for block in message.content):
            found.append(f"message {index} has empty content")
        answered = [block["tool_use_id"] for block in message.content if block["type"] == "tool_result"]
        if answered != expected:
            found.append(f"message {index} answers {answered}, the calls before it were {expected}")
        types = [block["type"] for block in message.content]
        if "tool_result" in types[len(answered) :]:
            found.append(f"message {index} has a tool_result after other content")
        expected = [block["id"] for block in message.content if block["type"] == "tool_use"]
    if expected:
        found.append(f"the calls {expected} have no result")
    return found


def _is_empty(block: Block) -> bool:
    return block["type"] == "text" and not block["text"].strip()


def _is_thinking(block: Block) -> bool:
    return block["type"] in {"thinking", "redacted_thinking"}


def _open_calls(folded: Sequence[Message]) -> list[str]:
    if not folded or folded[-1].role != "assistant":
        return []
    return [block["id"] for block in folded[-1].content if block["type"] == "tool_use"]


def _answer(calls: Sequence[str], blocks: Sequence[Block]) -> list[Block]:
    given = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    results = [given.get(call) or tool_result_block(call, NO_RESULT, is_error=True) for call in calls]
    return [*results, *(block for block in blocks if block["type"] != "tool_result")]


def user_message(text: str) -> Message:
    return Message("user", [text_block(text)])
