"""The content blocks of a message that is read: known by their index, open side by side, shown in order.

Text is shown as it arrives. Of one type only one block of text is open: servers that stop all blocks with the
message write nothing more to one after the next has begun, and what came all the same would be a block of its
own. So the deltas of a type concatenate to the text of its blocks, which stay in the order in which they
began.
"""

from collections import Counter

from gateway.errors import TooManyToolCalls
from gateway.ids import new_tool_call_id
from gateway.messages import Block
from gateway.model.base import Chunk, Delta
from gateway.model.bounds import Bounds
from gateway.model.content_block import (
    TEXT_OF,
    OpenBlock,
    text_block_of,
    thinking_block_of,
    tool_block_of,
    unknown_block_of,
)
from gateway.model.leading_thought import LeadingThought
from gateway.model.text_deltas import delta_head
from gateway.model.upstream_failures import protocol_failure, too_large

MAX_DELTA = 16_384
"""Characters of a delta, so that a write to the database, which others wait for, takes little of one
stream."""


class MessageBlocks:
    """`chunks` are the deltas that are to be taken, `current` the block that text came for last,
    `bad_inputs` what is wrong with the arguments of calls that have ended, by id, `thinks_in_text` whether
    thinking stood in a text. What is kept is counted,
    and `check_size` refuses what is over its bound.

    Raises:
        ModelError: a block cannot be, or is too much.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.chunks: list[Chunk] = []
        self.current: OpenBlock | None = None
        self.bad_inputs: dict[str, str] = {}
        self.thinks_in_text = False
        self._bounds = bounds
        self._size = self._arguments = 0
        self._all: list[OpenBlock] = []
        self._open: list[OpenBlock] = []
        self._at: dict[object, OpenBlock] = {}
        self._tool_ids: set[str] = set()
        self._signed_late: dict[OpenBlock, None] = {}

    @property
    def content(self) -> list[Block]:
        """What goes back to the model, in the order in which the blocks began."""
        for block in self._signed_late:
            block.content = thinking_block_of(block)
        self._signed_late.clear()
        return [block.content for block in self._all if block.content is not None]

    def count(self, size: int, *, is_argument: bool = False) -> None:
        """Counts bytes that are kept."""
        self._size += size
        if is_argument:
            self._arguments += size

    def begin(self, index: object, kind: str, start: Block, *, is_beside: bool = False) -> OpenBlock:
        """A new block. It ends the one that its index had before, unless it `is_beside` it."""
        if len(self._all) == self._bounds.blocks:
            raise too_large(f"it has over {self._bounds.blocks} content blocks")
        if kind == "tool_use":
            start = self._new_tool(start)
        if not is_beside:
            self.end_at(index)
        if kind in TEXT_OF and (before := next((each for each in self._open if each.type == kind), None)):
            self._end(before)
        block = OpenBlock(index, kind, start)
        if kind == "text" and not self._all:
            block.leading = LeadingThought()
        self._all.append(block)
        self._open.append(block)
        self._at[(index, kind) if is_beside else index] = block
        if kind in TEXT_OF:
            self.current = block
            block.delta_head = delta_head(index, kind) if type(index) is int else None
            text = start.get(TEXT_OF[kind])
            block.fresh.append(text if isinstance(text, str) else "")
        return block

    def _new_tool(self, start: Block) -> Block:
        """The start of a call, with an id of our own where it has none."""
        call_id, name = start.get("id"), start.get("name")
        if not (isinstance(name, str) and name):
            raise protocol_failure("a tool call without a name")
        if not (isinstance(call_id, str) and call_id):
            call_id = new_tool_call_id()
        if call_id in self._tool_ids:
            raise protocol_failure(f"two tool calls with one id, {call_id:.40}")
        if len(self._tool_ids) == self._bounds.tool_calls:
            called = Counter(block.start["name"] for block in self._all if block.type == "tool_use")
            raise TooManyToolCalls(self._bounds.tool_calls, *called.most_common(1)[0])
        self._tool_ids.add(call_id)
        return {**start, "id": call_id}

    def at(self, index: object, kind: str | None = None) -> OpenBlock | None:
        """The newest block with that index (None: the newest that is open), open or not; if a `kind` is
        asked for, one of that."""
        found = self._at.get(index)
        if found is None and index is None and self._open:
            found = self._open[-1]
        if kind is None or (found is not None and found.type == kind):
            return found
        return self._at.get((index, kind))

    def end_at(self, index: object) -> bool:
        """Ends what is open at that index; whether there was anything."""
        ending = [block for block in self._open if block.index == index]
        for block in ending:
            self._end(block)
        return len(ending) > 0

    def _end(self, block: OpenBlock) -> None:
        self._show(block, last=True)
        self.check_size()  # before anything is parsed
        block.is_open = False
        self._open.remove(block)
        self.current = None if self.current is block else self.current
        match block.type:
            case "text":
                block.content, block.shown = text_block_of(block), bytearray()
                if (thought := block.thought) is not None:
                    thought.content, thought.shown = thinking_block_of(thought), bytearray()
            case "thinking":
                block.content = thinking_block_of(block)
            case "tool_use":
                block.content, problem = tool_block_of(block)
                if problem is not None:
                    self.bad_inputs[block.content["id"]] = problem
            case _:
                block.content = unknown_block_of(block)

    def signed_late(self, block: OpenBlock) -> None:
        """Thinking that had ended has got more of its signature, maybe not the last of it."""
        self._signed_late[block] = None

    def end_all(self, cut: str | None) -> None:
        """Ends what is open, as the message does. A call that nothing was written for before the message was
        `cut`, for that reason, is none."""
        unstopped = [block for block in self._open if block.type == "tool_use"]
        while self._open:
            self._end(self._open[0])
        for block in [*unstopped, *self._all[-1:]] if cut is not None else []:
            call = block.content
            if block.type == "tool_use" and call is not None and not block.written and not call["input"]:
                self.bad_inputs[call["id"]] = f"cut off ({cut})"

    def show_text(self) -> None:
        """Makes deltas of what is fresh: one for each block, unless very much came at once."""
        for block in self._open:
            if block.fresh:
                self._show(block)

    def _show(self, block: OpenBlock, *, last: bool = False) -> None:
        text = block.take(last)
        if block.leading is not None:
            thought, text = block.leading.read(text, last=last)
            if thought:
                self._add(self._thought_of(block), thought)
            if block.leading.is_over:
                block.leading = None
        if text:
            self._add(block, text)

    def _thought_of(self, block: OpenBlock) -> OpenBlock:
        """The block of what is thought in the text of this one, which stands before it."""
        if block.thought is None:
            block.thought = OpenBlock(block.index, "thinking", {"type": "thinking"}, is_open=False)
            self._all.insert(self._all.index(block), block.thought)
            self.thinks_in_text = True
        return block.thought

    def _add(self, block: OpenBlock, text: str) -> None:
        """Shows more of a block's text."""
        block.shown += text.encode()
        self._size += len(text) if text.isascii() else bytes_of(text)
        shown = "thinking" if block.type == "thinking" else "text"
        if len(text) <= MAX_DELTA:
            self.chunks.append(Delta(shown, text))
        else:
            parts = range(0, len(text), MAX_DELTA)
            self.chunks += [Delta(shown, text[at : at + MAX_DELTA]) for at in parts]

    def check_size(self) -> None:
        """What is over its bound ends the stream: once for all that arrived together, not for each delta."""
        if self._size > self._bounds.size:
            raise too_large(f"it has over {self._bounds.size} bytes (GATEWAY_MAX_ANSWER_SIZE)")
        if self._arguments > self._bounds.arguments:
            raise too_large(
                f"the arguments of its tool calls have over {self._bounds.arguments} bytes, a quarter of "
                "GATEWAY_MAX_ANSWER_SIZE"
            )


def bytes_of(text: str) -> int:
    """How many bytes a text has in UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
