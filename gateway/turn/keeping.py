"""The one choke point of tool results: what is short the model reads as it is, what is long or no text is
kept aside as an artifact, and its compact form stands in its place. This happens when the result is written,
so that the history only grows."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson
import structlog

from gateway.artifacts.compact.told import told
from gateway.artifacts.content import Content, bytes_content, text_content
from gateway.artifacts.shelf import Origin
from gateway.errors import GatewayError
from gateway.events.lifecycle import TurnWarning
from gateway.events.upkeep import Artifact
from gateway.lexical import estimate_tokens
from gateway.messages import clean_text
from gateway.storage.artifacts import ArtifactRow, size_of
from gateway.tools.base import ToolOutput
from gateway.tools.wrapping import Wrapped, defuse, wrap
from gateway.turn.emitter import Emitter
from gateway.turn.parts import Parts

MOST_SIZE = 32_768
"""Bytes of JSON of what the model reads of one result, however few tokens it has: with its steps and memory
writes its event stays below 64 kB."""
FILE_SIZE = 600
"""Of these, so many are kept free for each file: no reference goes untold."""
SUMMARY_LINES, SUMMARY_LENGTH = 3, 300
"""Lines and characters of its compact form that the event says of an artifact."""

_BEGINNING, _END = 2000, 500  # characters of a result that could not be kept

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ForModel:
    """What the model reads as a call's result, and what was kept aside for it. `warnings` say what could not
    be."""

    content: str
    kept: Sequence[ArtifactRow] = ()
    warnings: Sequence[str] = ()

    def emit(self, emitter: Emitter, call_id: str) -> None:
        """Tells readers of the stream what was kept aside, before they are told the result."""
        for warning in self.warnings:
            emitter.emit(TurnWarning(code="artifact_not_kept", message=warning), tool_call_id=call_id)
        for row in self.kept:
            emitter.emit(_event(row), tool_call_id=call_id)


async def for_model(
    output: ToolOutput, tool: str, call_id: str, emitter: Emitter, parts: Parts, *, preface: str = ""
) -> ForModel:
    """The output as the model gets it, after the `preface`. What cannot be kept aside is cut, and both are
    told: a turn does not fail because of it."""
    answer, kept, warnings = (
        _Answer(MOST_SIZE - FILE_SIZE * len(output.files)),
        list[ArtifactRow](),
        list[str](),
    )
    answer.add(preface)

    async def keep(content: Content, instead: str) -> None:
        turn = emitter.turn
        origin = Origin(turn.owner, turn.session_id, turn.id, call_id, turn.project_id)
        try:
            row = await parts.shelf.keep(content, origin, metadata={"tool": tool})
        except Exception as error:
            # Also of a mistake of ours in what looks at contents: a result must not end the turn.
            why = error.message if isinstance(error, GatewayError) else "the gateway made a mistake."
            code = error.code if isinstance(error, GatewayError) else "internal"
            log.warning(
                "artifact_not_kept",
                tool=tool,
                tool_call_id=call_id,
                code=code,
                exc_info=None if isinstance(error, GatewayError) else error,
            )
            warnings.append(f"{tool}: the result could not be kept aside: {why}")
            answer.add(f"{instead}\n[It could not be kept aside: {why}]", f"[Not kept aside: {why}]")
        else:
            if row not in kept:  # the same file twice is one
                kept.append(row)
            answer.add(told(row, note=output.note), f"[{row.ref}: {row.mime}, {size_of(row)}]")

    text = clean_text(str(output.content))
    short = len(text) <= MOST_SIZE and (
        output.bounded or estimate_tokens(text) <= parts.settings.artifact_tokens
    )
    if not (short and ((not text and output.files) or answer.add(_as_it_is(output, text)))):
        await keep(text_content(text), _as_it_is(output, _ends_of(text)))
    for number, file in enumerate(output.files, 1):
        answer.left += FILE_SIZE
        content = bytes_content(file.data, name=file.name, mime=file.mime)
        await keep(content, f"[File {number}: {len(file.data)} bytes that are no text]")
    return ForModel(answer.text, kept, warnings)


class _Answer:
    """What the model reads, part by part; `left` are the bytes of JSON that there is room for."""

    def __init__(self, left: int) -> None:
        self._parts: list[str] = []
        self.left = left

    @property
    def text(self) -> str:
        return "\n".join(self._parts)

    def add(self, *forms: str) -> bool:
        """Adds the first of these forms that there is room for; whether there is one."""
        for form in forms:
            if (size := len(orjson.dumps(form))) <= self.left:
                self.left -= size
                self._parts += [form] if form else []
                return True
        return False


def _as_it_is(output: ToolOutput, text: str) -> str:
    """Text that this gateway did not wrap itself is defused: a tool may not pose as a skill or a summary, nor
    may whatever it read."""
    if output.note is not None:
        return wrap("tool_output", output.note, text or "(no output)")
    return text if isinstance(output.content, Wrapped) and text == output.content else defuse(text)


def _ends_of(text: str) -> str:
    left_out = len(text) - _BEGINNING - _END
    if left_out <= 0:
        return text
    return f"{text[:_BEGINNING]}\n[... {left_out} of {len(text)} characters left out ...]\n{text[-_END:]}"


def _event(row: ArtifactRow) -> Artifact:
    return Artifact(
        ref=row.ref,
        mime=row.mime,
        size=row.size,
        summary="; ".join(line.strip() for line in row.compact.splitlines()[:SUMMARY_LINES])[:SUMMARY_LENGTH],
        kind=row.kind,
        name=row.name,
        lines=row.lines,
    )
