"""One content block of a streamed message, from its start to the block that goes back to the model."""

from dataclasses import dataclass, field
from typing import Any

from gateway.messages import Block, clean_text
from gateway.model.leading_thought import LeadingThought
from gateway.model.strict_json import parse_object

TEXT_OF = {"text": "text", "thinking": "thinking"}
"""The block types whose text is shown, and the field that holds it."""


@dataclass(slots=True, eq=False)
class OpenBlock:
    """A block between its start and its stop, and after that its `content` (None: nothing goes back).

    `fresh` is text that no delta carries yet, `shown` all that left `fresh`, in UTF-8, `delta_head` how an
    event with more of it usually begins (see text_deltas.py). `leading` parts a thought from the text of the
    block that begins a message, which then stands in a block before it, its `thought`."""

    index: object
    type: str
    start: Block
    is_open: bool = True
    delta_head: bytes | None = None
    fresh: list[str] = field(default_factory=list[str])
    shown: bytearray = field(default_factory=bytearray)
    written: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])
    citations: list[Any] = field(default_factory=list[Any])
    content: Block | None = None
    leading: LeadingThought | None = None
    thought: "OpenBlock | None" = None

    def take(self, last: bool) -> str:
        """Takes what is fresh. Half a surrogate pair at its end waits for the other half, unless it is the
        last."""
        if not self.fresh:
            return ""
        text = self.fresh[0] if len(self.fresh) == 1 else "".join(self.fresh)
        self.fresh = []
        if text.endswith("\x00"):  # which is taken out, and must not part the halves of a pair
            text = text.rstrip("\x00")
        if not last and text and "\ud800" <= text[-1] <= "\udbff":
            text, half = text[:-1], text[-1]
            self.fresh.append(half)
        return clean_text(text)


def text_block_of(block: OpenBlock) -> Block | None:
    text = block.shown.decode()
    if not text:  # the API refuses an empty text block when it comes back
        return None
    given = block.start.get("citations")
    citations = [*(given if isinstance(given, list) else []), *block.citations]
    content = {name: value for name, value in block.start.items() if name != "citations"}
    return {**content, "text": text, **({"citations": citations} if citations else {})}


def thinking_block_of(block: OpenBlock) -> Block | None:
    given = block.start.get("signature")
    signature = (given if isinstance(given, str) else "") + "".join(block.signature)
    thinking = block.shown.decode()
    if not signature:  # as it came: whether it goes back is the endpoint's way
        return {**block.start, "thinking": thinking} if thinking else None
    return {**block.start, "thinking": thinking, "signature": clean_text(signature)}


def tool_block_of(block: OpenBlock) -> tuple[Block, str | None]:
    """The block, and what is wrong with its input, which then is {}."""
    written = "".join(block.written)
    found: Any = block.start.get("input") or {}
    problem = None
    if written:
        try:
            found = parse_object(written)
        except ValueError as why:
            problem = str(why)
    elif not isinstance(found, dict):
        problem = "not a JSON object"
    return {**block.start, "input": {} if problem is not None else found}, problem


def unknown_block_of(block: OpenBlock) -> Block:
    """As it came; a server tool's input, which is written in deltas too, is put where it belongs."""
    try:
        return (
            {**block.start, "input": parse_object("".join(block.written))} if block.written else block.start
        )
    except ValueError:
        return block.start
