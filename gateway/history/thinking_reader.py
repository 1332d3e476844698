"""Which thinking of a history goes back to which model. What is signed can be read by the model that signed
it; what is not signed is for the rest of its turn, but for endpoints that ask for more. Pure.

An answer that thinks is stored with `made_by`: the `model` that was asked, the `answered` one where the
endpoint named another, and the `endpoint`. It stands in a `recalled` block without memories, of which
versions before send nothing: a field of the thinking itself they would send, and be refused. Nothing of it is
sent.
Thinking of which it is not known is sent to every model, and where that is refused the turn goes on without
(gateway/turn/thinking_refusals.py).

Source: platform.claude.com "Preserved thinking": a signature is checked for the model and for all that stands
before the block.

Thinking that stood in a text (gateway/thinking_in_text.py) goes back to nobody: no endpoint gave it as
thinking.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, Literal

from gateway.errors import ModelError
from gateway.messages import RECALLED, Block, Message
from gateway.storage.messages import History, StoredMessage
from gateway.thinking_in_text import has_signed, without_thinking

MADE_BY = "made_by"
IN_TEXT = "in_text"
"""Of a maker: its thinking stood in its text."""
_NAMES_THINKING = re.compile(r"thinking|\bsignature\b|reasoning", re.IGNORECASE)
_NAMES_THE_REQUEST = re.compile(r"budget_tokens|thinking\.type", re.IGNORECASE)
Form = Literal["own", "all", "none"]
"""The thinking that a model is sent: what it can read, all that there is, or nothing."""


@dataclass(frozen=True, slots=True)
class ThinkingReader:
    """The model that reads a history: its name, the endpoint that has it, the turn that it answers, and
    the name by which it `answered` last, where that was another. `takes_unsigned`: whether thinking without
    a signature is sent at all."""

    model: str
    endpoint: str | None = None
    turn_id: str | None = None
    form: Form = "own"
    takes_unsigned: bool = True
    answered: str | None = None

    def reads(self, block: Block, answer: Message, *, in_turn: bool, signed_before: bool) -> bool:
        """Whether a block of thinking in an answer is sent: of the turn that is answered (`in_turn`), or one
        that was signed for the prefix of a former generation (`signed_before`)."""
        if not self.keeps(block, answer):
            return False
        if self.form == "all":
            return True
        if signed_before or not (is_signed(block) or in_turn):
            return False
        return self._is_own(_maker_of(block, answer))

    def keeps(self, block: Block, answer: Message) -> bool:
        """Whether a thought of the turn that is answered goes back in its further calls: it came just now."""
        if is_signed(block):
            return self.form != "none"
        return self.form != "none" and self.takes_unsigned and IN_TEXT not in _maker_of(block, answer)

    def _is_own(self, maker: dict[str, Any]) -> bool:
        """An alias is another name for the model that answers to it: what was `answered` counts."""
        if not maker:
            return True
        if self.endpoint is not None and maker.get("endpoint", self.endpoint) != self.endpoint:
            return False
        if maker.get("model") == self.model:
            return maker.get("answered") == self.answered
        return maker.get("answered") == self.model


def refuses_thinking(error: ModelError) -> bool:
    """Whether a refusal is about the thinking in the messages."""
    words = error.message
    return (
        error.refused
        and _NAMES_THINKING.search(words) is not None
        and _NAMES_THE_REQUEST.search(words) is None
    )


def maker_of_answer(
    model: str, answered: str | None, endpoint: str | None, *, in_text: bool = False
) -> dict[str, Any]:
    """What is stored with the thinking of an answer that `model` was asked for."""
    return {
        "model": model,
        **({"answered": answered} if answered and answered != model else {}),
        **({"endpoint": endpoint} if endpoint else {}),
        **({IN_TEXT: True} if in_text else {}),
    }


def signed_off(content: Sequence[Block], maker: dict[str, Any]) -> Sequence[Block]:
    """The content of an answer as it is stored, with the maker of its thinking."""
    if not any(is_thinking(block) for block in content):
        return content
    return [*content, {"type": RECALLED, "memories": [], MADE_BY: maker}]


def is_thinking(block: Block) -> bool:
    return block["type"] in {"thinking", "redacted_thinking"}


def is_signed(block: Block) -> bool:
    return block["type"] != "thinking" or bool(block.get("signature"))


def with_thinking_for(
    reader: ThinkingReader | None, item: StoredMessage, message: Message, generation_from: int
) -> Message:
    """`message`, as which the model reads `item`, with the thinking that it gets, and without the makers;
    the same object when there is none. `reader` None: whoever could read what is signed."""
    if message.role != "assistant" or not any(is_thinking(block) for block in message.content):
        return message
    reader = reader or ThinkingReader("", takes_unsigned=False)
    before, in_turn = item.position <= generation_from, item.turn_id == reader.turn_id
    everyone = not reader.model
    kept: list[Block] = []
    for block in message.content:
        if not is_thinking(block):
            kept.append(block)
        elif (everyone and is_signed(block) and not before) or (
            not everyone and reader.reads(block, item.message, in_turn=in_turn, signed_before=before)
        ):
            kept.append(unmarked(block))
    is_same = len(kept) == len(message.content) and all(map(is_, kept, message.content))
    return message if is_same else Message(message.role, kept)


def unmarked(block: Block) -> Block:
    """The block without its maker."""
    return {name: value for name, value in block.items() if name != MADE_BY} if MADE_BY in block else block


def as_sent(reader: ThinkingReader, message: Message) -> Message:
    """An answer as it goes back in its own turn: the thinking that the reader takes, without its maker, and
    what its texts say; the same object when nothing of it is thinking."""
    if message.role != "assistant" or not any(is_thinking(block) for block in message.content):
        return said_by(message, message)
    kept = [
        unmarked(block)
        for block in message.content
        if block["type"] != RECALLED and (not is_thinking(block) or reader.keeps(block, message))
    ]
    return said_by(Message(message.role, kept), message)


def said_by(message: Message, stored: Message) -> Message:
    """`message`, as which an answer that was `stored` is read, without what is thought in its texts; the same
    object when nothing is, or its thinking is signed."""
    if message.role != "assistant" or has_signed(stored.content):
        return message
    texts = {at: block["text"] for at, block in enumerate(message.content) if block["type"] == "text"}
    said = {at: without_thinking(text) for at, text in texts.items()}
    if all(said[at] is text for at, text in texts.items()):
        return message
    content = [
        {**block, "text": said[at]} if at in said else block
        for at, block in enumerate(message.content)
        if said.get(at) != ""
    ]
    return Message(message.role, content)


def last_answered(history: History, model: str, endpoint: str | None) -> str | None:
    """The name by which the endpoint answered last for that model, by the thinking in the history; None:
    by that very name, or never."""
    for item in reversed(history.messages):
        for block in reversed(item.message.content):
            if item.message.role == "assistant" and is_thinking(block):
                maker = _maker_of(block, item.message)
                if maker.get("model") == model and maker.get("endpoint", endpoint) == endpoint:
                    answered = maker.get("answered")
                    return answered if isinstance(answered, str) else None
    return None


def may_think(history: History, reader: ThinkingReader) -> bool:
    """Whether the next call of the reader's turn may think. While tools run, the API wants the thought that
    led to the first call; when that cannot be sent any more, the rest of the turn goes without."""
    for item in history.messages:
        if item.turn_id != reader.turn_id or item.message.role != "assistant":
            continue
        before = item.position <= history.generation_from
        if before and reader.form != "all":
            return False
        if not all(
            reader.reads(block, item.message, in_turn=True, signed_before=before)
            for block in item.message.content
            if is_thinking(block) and is_signed(block)
        ):
            return False
    return True


def _maker_of(block: Block, answer: Message) -> dict[str, Any]:
    """Nothing where it is not known: a file may hold whatever was put there. A block may have it itself."""
    for each in (block, *answer.content):
        maker = each.get(MADE_BY) if each is block or each["type"] == RECALLED else None
        if isinstance(maker, dict):
            return maker
    return {}
