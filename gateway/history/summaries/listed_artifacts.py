"""The artifacts of a conversation: a summary lists those that its messages made, attached or read."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

import orjson

from gateway.history.summaries.summary import Reference, SessionSummary
from gateway.ids import ARTIFACT_PATTERN
from gateway.lexical import estimate_tokens
from gateway.messages import Block, attached_in
from gateway.storage.artifacts import ArtifactRow, size_of
from gateway.storage.messages import StoredMessage

MAX_ARTIFACTS = 30
SHARE = 3
"""The part of a summary that its artifacts take at most, as a divisor: the conversation matters more."""
MAX_QUESTION = 500
"""References that are looked up for one summary."""
_SCANNED = 100_000  # characters of one text
_MAX_LENGTH = 200  # characters about one artifact beside its name, type and size

_REF = re.compile(ARTIFACT_PATTERN)


class Used(Protocol):
    """Those of `refs` that are artifacts which the session uses. Raises errors.StorageError."""

    async def __call__(self, session_id: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]: ...


async def none_used(session_id: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
    """Where there is no artifact store."""
    return {}


def named_in(messages: Sequence[StoredMessage], *summaries: SessionSummary | None) -> list[str]:
    """What looks like references of artifacts in calls, results and attachments of `messages` and in what
    `summaries` list: those in most messages first, of these the latest; at most MAX_QUESTION."""
    times, latest = Counter[str](), dict[str, int]()
    for summary in summaries:
        for each in summary.artifacts if summary else ():
            times.update(set(_REF.findall(each.ref)))
    for item in messages:
        found = {ref for text in _texts(item) for ref in _REF.findall(text[:_SCANNED])}
        times.update(found)
        latest.update(dict.fromkeys(found, item.position))
    return sorted(times, key=lambda ref: (-times[ref], -latest.get(ref, 0), ref))[:MAX_QUESTION]


def listed(
    refs: Sequence[str],
    rows: Mapping[str, ArtifactRow],
    *summaries: SessionSummary | None,
    most_tokens: int,
) -> list[Reference]:
    """Those of `refs`, in their order, that are there, each with its name, type and size, and its description
    in the last one of `summaries`; as many as may stand in a summary of `most_tokens`."""
    described = {
        ref: each
        for summary in summaries
        for each in (summary.artifacts if summary else ())
        for ref in _REF.findall(each.ref)[:1]
        if each.desc or each.locator
    }
    budget, found = most_tokens // SHARE, list[Reference]()
    for row in (rows[ref] for ref in refs if ref in rows):
        reference = _reference(row, described.get(row.ref))
        budget -= estimate_tokens(f"- {reference.ref} ({reference.locator}): {reference.desc}\n")
        if budget < 0 or len(found) == MAX_ARTIFACTS:
            break
        found.append(reference)
    return found


def others(references: Sequence[Reference]) -> list[Reference]:
    """References of a summary that are none of artifacts: paths, addresses."""
    return [each for each in references if not _REF.search(each.ref)]


def _reference(row: ArtifactRow, described: Reference | None) -> Reference:
    facts = ", ".join([*([row.name] if row.name else []), row.mime, size_of(row)])
    if described is None:
        return Reference(ref=row.ref, desc=facts)
    # The description in a summary may begin with these facts: its model has read the former summary.
    more = described.desc.removeprefix(facts).removeprefix(":").strip()[:_MAX_LENGTH]
    return Reference(
        ref=row.ref, locator=described.locator[:_MAX_LENGTH], desc=f"{facts}: {more}" if more else facts
    )


def _texts(item: StoredMessage) -> Iterator[str]:
    for block in item.message.content:
        yield from _texts_of(block)


def _texts_of(block: Block) -> Iterator[str]:
    if (attached := attached_in(block)) is not None:
        yield attached.ref
        return
    match block:
        case {"type": "tool_use"}:
            yield orjson.dumps(block.get("input")).decode()
        case {"type": "tool_result", "content": str(text)}:
            yield text
        case {"type": "tool_result", "content": list(blocks)}:
            yield from (text for each in blocks if (text := _text_of(each)))
        case _:
            pass


def _text_of(block: Any) -> str:
    return str(block.get("text") or "") if isinstance(block, dict) else ""
