"""The prompt that the model was sent in a turn: put together again from the stored session and compared with
the digests in its events. Of a part that has changed since, only the digest is shown."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from gateway.auth import Principal
from gateway.history.summaries.summary import render
from gateway.history.tokens import block_tokens, message_tokens, overhead_of, tokens_of
from gateway.history.transcript import messages_for_model, user_message
from gateway.messages import Block, Message, ToolSpec
from gateway.prompt.sent_report import SentBlock, SentMessage, SentPart, SentPrompt, SentTool
from gateway.prompt.system_prompt import CLIENT, Prefix, Section
from gateway.service.dependencies import Dependencies
from gateway.service.session_access import owner_of
from gateway.storage.messages import History, StoredMessage
from gateway.storage.sessions import Outline
from gateway.storage.turns import TurnRow
from gateway.turn.turn_prompt import Prompt

MAX_MESSAGES, MAX_TEXT = 200, 2000
"""How many messages of the turn are shown, the first ones, and how many characters of each block's text."""
_UNTOLD = frozenset({"memories", "former sessions"})
_CALLS = 1000  # events about model calls that are read: more than a turn may make


@dataclass(slots=True)
class _Sizes:
    """Messages of the history up to the end of a turn: those before it by their sum."""

    earlier: int = 0
    earlier_tokens: int = 0
    own: list[Message] = field(default_factory=list[Message])

    def take(self, history: History, items: Sequence[StoredMessage], turn_id: str) -> bool:
        """Whether more may come: what follows a turn was not sent in it."""
        for item in items:
            messages = messages_for_model(history, [item])
            if item.turn_id == turn_id:
                self.own += messages
            elif self.own:
                return False
            else:
                self.earlier += len(messages)
                self.earlier_tokens += tokens_of(messages)
        return True


class SentPrompts:
    """One per process. Stores nothing."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def of_turn(self, who: Principal, session_id: str, turn_id: str) -> SentPrompt:
        """To others than the session's owner without the instructions of client applications. Raises
        errors.NotFound, errors.ArchiveDamaged, errors.StorageError."""
        deps = self._deps
        owner = await owner_of(deps.projects, who, session_id)
        turn = await deps.turns.get(session_id, turn_id, owner)
        whole = not deps.settings.use_compressions
        outline = await deps.sessions.outline(session_id, owner, whole=whole, branch=turn.branch)
        sent_hash, sent = await self._digests_sent(turn)
        prefix = await self._prefix(turn, outline.history, sent_hash)
        exact = sent_hash == prefix.prefix_hash
        sizes = await self._sizes(turn, outline)
        summary = outline.history.compression
        if sizes.own and sizes.own[-1].role == "assistant" and turn.status == "done":
            sizes.own.pop()  # the answer, which was not sent
        own = [_message(each) for each in sizes.own[:MAX_MESSAGES]]
        hidden = {CLIENT} if owner != who.user_id else set[str]()
        return SentPrompt(
            session_id=session_id,
            turn_id=turn_id,
            model=turn.model,
            window=await deps.compressor.window(turn.model),
            compress_at=await deps.compressor.threshold(turn.model, outline.history),
            prefix_hash=sent_hash,
            exact=exact,
            parts=[
                SentPart.beside(each, True if exact else _is_same(each, sent))
                for each in prefix.sections
                if each.name not in hidden
            ],
            gone={name: digest for name, digest in sent.items() if name not in _names(prefix) | hidden},
            tools=[SentTool(name=each.name, tokens=overhead_of((), (each,))) for each in prefix.tools],
            summary_tokens=tokens_of([user_message(render(summary.summary, summary))]) if summary else 0,
            earlier_messages=sizes.earlier if own else 0,
            earlier_tokens=sizes.earlier_tokens if own else 0,
            messages=own or None,
        )

    async def _digests_sent(self, turn: TurnRow) -> tuple[str | None, Mapping[str, str]]:
        """The hash of the prefix, and the components with their digests, as of the turn's last call."""
        if not turn.first_seq:
            return None, {}
        found = await self._deps.log.read(
            turn.session_id,
            after=turn.first_seq - 1,
            limit=_CALLS,
            until=turn.last_seq or None,
            types=["iteration_start"],
        )
        starts = [data for each in found if each.turn_id == turn.id for data in [each.load()["data"]]]
        hashes = [data["prefix_hash"] for data in starts if "prefix_hash" in data]
        components = [data["components"] for data in starts if "components" in data]
        return hashes[-1] if hashes else None, components[-1] if components else {}

    async def _prefix(self, turn: TurnRow, history: History, sent_hash: str | None) -> Prefix:
        """The prompt as it would be now for that turn, before or after a compression, as it was sent."""
        deps, digest, tools = self._deps, turn.instructions, list[ToolSpec]()
        if turn.client_tools is not None:
            tools += await deps.turns.client_tools(turn.session_id, turn.client_tools)
        instructions = (
            await deps.sessions.instructions(turn.session_id, digest) if digest is not None else None
        )
        history, prompt = (
            replace(history, instructions=instructions),
            Prompt.read(deps, tools, model=turn.model),
        )
        prefix = prompt.prefix(history)
        other = prompt.prefix(history, compressed=history.compression is None)
        return other if other.prefix_hash == sent_hash else prefix

    async def _sizes(self, turn: TurnRow, outline: Outline) -> _Sizes:
        sizes = _Sizes()
        async with aclosing(self._deps.sessions.pages(outline)) as pages:
            async for page in pages:
                if not await asyncio.to_thread(sizes.take, outline.history, page, turn.id):
                    break
        return sizes


def _names(prefix: Prefix) -> set[str]:
    return {each.name for each in prefix.sections}


def _is_same(part: Section, sent: Mapping[str, str]) -> bool | None:
    """Events have no digests of memories and former sessions, and none of other parts that were cut."""
    if part.name in _UNTOLD or part.truncated or not sent:
        return None
    return sent.get(part.name) == part.digest[:12]


def _message(message: Message) -> SentMessage:
    blocks = [_block(each) for each in message.content]
    return SentMessage(role=message.role, tokens=message_tokens(message), blocks=blocks)


def _block(block: Block) -> SentBlock:
    match block:
        case {"text": str(text)} | {"thinking": str(text)} | {"content": str(text)}:
            pass
        case {"input": dict(given)}:
            text = str(given)
        case _:
            text = ""
    return SentBlock(
        type=block["type"], tokens=block_tokens(block), name=block.get("name"), text=text[:MAX_TEXT]
    )
