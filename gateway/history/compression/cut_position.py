"""Where a history may be cut in two: what a summary will stand for, and what stays word for word. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway.errors import NothingToCompress
from gateway.messages import RECALLED, Message
from gateway.storage.messages import History, StoredMessage

MIN_TOKENS = 400
"""Tokens that a cut must cover: with its note a summary seldom takes less, so nothing would be won."""
_SUMMARY_SHARE = 3  # a summary of little text is expected to take a third of it


@dataclass(frozen=True, slots=True)
class Cut:
    """The messages `from_position` to `to_position` will be covered; the one at `kept_position`, if any, is
    sent word for word all the same (it lies before them when it was kept before). Tokens are of the messages
    that leave the view and of those that stay."""

    from_position: int
    to_position: int
    kept_position: int | None
    tokens_covered: int
    tokens_kept: int


def find_cut(
    history: History, sizes: Sequence[int], *, target: int, summary_tokens: int, least: int = MIN_TOKENS
) -> Cut:
    """The cut that keeps as many of the newest exchanges as fit, with the summary, in `target` tokens.

    `sizes` are the tokens of each of `history.messages`, `summary_tokens` the most of a summary. A cut never
    parts a tool call from its result, and leaves open calls and the newest message of the user word for word.
    It lies between two turns where that is enough; otherwise after a complete round of tool calls in the
    newest turn, whose request is then kept. Where nothing fits, as much as possible is covered.

    Raises:
        NothingToCompress: less than `least` tokens can be covered; `details` has the counts and a reason:
            empty, newest_turn_only or too_little.
    """
    place = _Places(history, sizes)
    found: Cut | None = None
    for cut in place.cuts():
        if cut.tokens_covered < least:
            continue
        found = cut
        if cut.tokens_kept + min(summary_tokens, cut.tokens_covered // _SUMMARY_SHARE) <= target:
            break
    if found is not None:
        return found
    raise _nothing(place, sum(sizes), least)


class _Places:
    """The places at which a history may be cut, the ones that cover least first."""

    def __init__(self, history: History, sizes: Sequence[int]) -> None:
        parent = history.compression
        covered = parent.to_position if parent else 0
        first = next((i for i, item in enumerate(history.messages) if item.position > covered), None)
        self.messages = history.messages
        self.first = len(history.messages) if first is None else first
        self.newest = _newest_request(history.messages)
        self._ahead = [0]  # tokens of the messages before each
        for size in sizes:
            self._ahead.append(self._ahead[-1] + size)

    def cuts(self) -> Iterator[Cut]:
        """Between turns from the oldest to the newest, then inside the newest turn."""
        complete = _complete(self.messages)
        starts = [i for i in range(self.first + 1, self.newest + 1) if _is_request(self.messages[i].message)]
        for start in starts:
            if complete[start - 1]:
                yield self._cut(start, None)
        for end in range(max(self.first, self.newest + 1), len(self.messages)):
            if self.newest >= 0 and complete[end] and _has_results(self.messages[end].message):
                yield self._cut(end + 1, self.newest)

    def _cut(self, start: int, kept: int | None) -> Cut:
        """Everything before index `start` is covered, but for the message at `kept`."""
        spared = 0 if kept is None else self._ahead[kept + 1] - self._ahead[kept]
        return Cut(
            from_position=self.messages[self.first].position,
            to_position=self.messages[start - 1].position,
            kept_position=None if kept is None else self.messages[kept].position,
            tokens_covered=self._ahead[start] - spared,
            tokens_kept=self._ahead[-1] - self._ahead[start] + spared,
        )

    @property
    def coverable(self) -> int:
        """Tokens that the largest cut covers."""
        return max((cut.tokens_covered for cut in self.cuts()), default=0)


def _nothing(place: _Places, tokens: int, least: int) -> NothingToCompress:
    covered = place.coverable
    if not place.messages:
        reason, why = "empty", "the session has no messages"
    elif covered == 0:
        reason, why = "newest_turn_only", "only the newest exchange is left, and it stays word for word"
    else:
        reason = "too_little"
        why = f"only {covered} tokens could be covered, and fewer than {least} are not worth a summary"
    return NothingToCompress(
        f"There is nothing to compress: {why}.",
        details={
            "messages": len(place.messages),
            "tokens": tokens,
            "covered_tokens": covered,
            "needed_tokens": least,
            "reason": reason,
        },
    )


def _newest_request(messages: Sequence[StoredMessage]) -> int:
    """The index of the newest message with words of the user; -1 when there is none."""
    indexes = range(len(messages) - 1, -1, -1)
    return next((i for i in indexes if _is_request(messages[i].message)), -1)


def _is_request(message: Message) -> bool:
    return message.role == "user" and any(
        block["type"] not in {"tool_result", RECALLED} and (block["type"] != "text" or block["text"].strip())
        for block in message.content
    )


def _has_results(message: Message) -> bool:
    return message.role == "user" and any(block["type"] == "tool_result" for block in message.content)


def _complete(messages: Sequence[StoredMessage]) -> list[bool]:
    """For each message whether a history may end with it: no call made up to it is answered later, or still
    waits for its answer. A call that the conversation went on without waits for none."""
    waiting: dict[str, list[int]] = {}
    ends: list[int] = list(range(len(messages)))  # where the calls of a message are answered
    for index, item in enumerate(messages):
        for block in item.message.content:
            if block["type"] == "tool_use" and item.message.role == "assistant":
                waiting.setdefault(block["id"], []).append(index)
            elif block["type"] == "tool_result" and item.message.role == "user":
                for caller in waiting.pop(block["tool_use_id"], ()):
                    ends[caller] = max(ends[caller], index)
    last = max(
        (
            i
            for i, item in enumerate(messages)
            if item.message.role == "assistant" or _is_request(item.message)
        ),
        default=-1,
    )
    if any(last in callers for callers in waiting.values()):
        ends[last] = len(messages)
    complete: list[bool] = []
    latest = -1
    for index, end in enumerate(ends):
        latest = max(latest, end)
        complete.append(latest <= index)
    return complete
