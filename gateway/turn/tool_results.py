"""The form of a tool's result for the model: short text unchanged; long text and other content as an
artifact, with its compact form in its place. It is fixed when the result is written, so that the history only
grows."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import orjson
import structlog

from gateway.artifacts.artifact_store import ArtifactStore, Origin
from gateway.artifacts.compact.model_view import render
from gateway.artifacts.content import ArtifactContent, bytes_content, text_content
from gateway.errors import GatewayError
from gateway.events.lifecycle import TurnWarning
from gateway.events.memory_skill_artifact import Artifact
from gateway.events.tool_calls import CallResult, ResultStatus
from gateway.lexical import estimate_tokens
from gateway.messages import clean_text
from gateway.storage.artifacts import ArtifactRow, size_of
from gateway.tools.base import ToolOutput
from gateway.tools.wrapping import Wrapped, defuse, wrap
from gateway.turn.context import TurnContext

T = TypeVar("T")
MAX_INLINE = 262_144
"""Characters that are cleaned on the event loop: a millisecond."""
MAX_SIZE = 32_768
"""Bytes of JSON of what the model reads of one result, however few tokens it has: with its steps and memory
writes its event stays below 64 kB."""
FILE_SIZE = 600
"""Bytes of MAX_SIZE that are reserved for each file, so that its reference always fits."""
SUMMARY_LINES, SUMMARY_LENGTH = 3, 300
"""Lines and characters of an artifact's compact form in its event."""

_BEGINNING, _END = 2000, 500  # characters of a result that could not be kept

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelToolResult:
    """The result of a call as the model reads it, and the artifacts that were `kept` of it. `warnings` name
    the contents that could not be stored as artifacts."""

    content: str
    kept: Sequence[ArtifactRow] = ()
    warnings: Sequence[str] = ()

    def emit(self, turn: TurnContext, call_id: str) -> None:
        """Emits what became of the contents, which comes before the result."""
        for warning in self.warnings:
            turn.emit(TurnWarning(code="artifact_not_kept", message=warning), tool_call_id=call_id)
        for row in self.kept:
            turn.emit(_event(row), tool_call_id=call_id)


def tool_result(name: str, status: ResultStatus, content: str, duration_ms: int = 0) -> CallResult:
    return CallResult(name=name, status=status, content=content, duration_ms=duration_ms)


async def model_tool_result(
    turn: TurnContext, output: ToolOutput, tool: str, call_id: str, *, preface: str = ""
) -> ModelToolResult:
    """The output as the model gets it, after the `preface`. What cannot be offloaded is cut, and both are
    reported: a turn does not fail because of it."""
    row = turn.row
    origin = Origin(row.session_owner, row.session_id, row.id, call_id, row.project_id)
    result = _Result(
        turn.deps.artifact_store, origin, tool, output.note, MAX_SIZE - FILE_SIZE * len(output.files)
    )
    result.add(preface)
    text = await _beside_the_loop(clean_text, str(output.content))
    short = len(text) <= MAX_SIZE and (
        output.bounded or estimate_tokens(text) <= turn.settings.artifact_tokens
    )
    only_files = not text and len(output.files) > 0
    if not only_files and not (short and result.add(_as_it_is(output, text))):
        content = await _beside_the_loop(text_content, text)
        await result.keep(content, _as_it_is(output, _ends_of(text)))
    for number, file in enumerate(output.files, 1):
        result.left += FILE_SIZE
        content = bytes_content(file.data, name=file.name, mime=file.mime)
        await result.keep(content, f"[File {number}: {len(file.data)} bytes that are no text]")
    return ModelToolResult("\n".join(result.texts), result.kept, result.warnings)


async def _beside_the_loop(work: Callable[[str], T], text: str) -> T:
    """Its result; of a long text in a thread, as others wait for the event loop."""
    return work(text) if len(text) <= MAX_INLINE else await asyncio.to_thread(work, text)


class _Result:
    """The result of a call in the making: the `texts` for the model, the artifacts that were `kept`, and
    `warnings` of contents that could not be stored. `left` are the bytes of JSON that may still be added."""

    def __init__(
        self, artifact_store: ArtifactStore, origin: Origin, tool: str, note: str | None, left: int
    ) -> None:
        self._artifact_store = artifact_store
        self._origin = origin
        self._tool = tool
        self._note = note
        self.left = left
        self.texts: list[str] = []
        self.kept: list[ArtifactRow] = []
        self.warnings: list[str] = []

    def add(self, *forms: str) -> bool:
        """Adds the first of these forms that fits; whether there is one."""
        for form in forms:
            if (size := len(orjson.dumps(form))) <= self.left:
                self.left -= size
                self.texts += [form] if form else []
                return True
        return False

    async def keep(self, content: ArtifactContent, instead: str) -> None:
        """Offloads a content and adds its compact form; `instead` where that fails."""
        try:
            row = await self._artifact_store.put(content, self._origin, metadata={"tool": self._tool})
        except GatewayError as error:
            log.warning("artifact_not_kept", code=error.code, error=str(error), **self._where)
            self._not_kept(error.message, instead)
        except Exception:
            # A mistake of ours in what looks at contents must not end the turn either.
            log.exception("artifact_not_kept", code="internal", **self._where)
            self._not_kept("The gateway made a mistake; its log has the details.", instead)
        else:
            if row not in self.kept:  # the same file twice is one
                self.kept.append(row)
            self.add(render(row, note=self._note), f"[{row.ref}: {row.mime}, {size_of(row)}]")

    @property
    def _where(self) -> dict[str, str | None]:
        return {"tool": self._tool, "tool_call_id": self._origin.tool_call_id}

    def _not_kept(self, why: str, instead: str) -> None:
        self.warnings.append(f"{self._tool}: the result could not be kept aside: {why}")
        self.add(f"{instead}\n[It could not be kept aside: {why}]", f"[Not kept aside: {why}]")


def _as_it_is(output: ToolOutput, text: str) -> str:
    """Text that this gateway did not wrap itself is escaped: neither a tool nor a text that it read may pose
    as a skill or a summary."""
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
