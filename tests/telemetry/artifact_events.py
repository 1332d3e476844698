"""Artifacts as whoever keeps them tells of them. All they say, and are called, is CANARY."""

from dataclasses import replace
from typing import Any

from gateway.events.lifecycle import AttachedFile
from gateway.events.memory_skill_artifact import Artifact
from tests.product import ArtifactRow, TurnStart
from tests.storage.artifact_rows import artifact
from tests.telemetry.story import CANARY, MODEL, TRACE_ID, Story


def row(**fields: Any) -> ArtifactRow:
    """Of 100 bytes of CSV."""
    made = replace(
        artifact(), owner="李雷", name=CANARY, compact=CANARY, metadata={"tool": "look", "a": CANARY}
    )
    return replace(made, **fields)


def kept_aside(story: Story, *, call: str | None = "toolu_1", **fields: Any) -> Story:
    given: dict[str, Any] = {"kind": "json", "lines": 12, **fields}
    event = Artifact(
        ref="ART-0123456789", mime=f"a/{CANARY}", size=2048, summary=CANARY, name=CANARY, **given
    )
    return story.notify(event, call=call)


def with_files(*sizes: int) -> Story:
    """A turn whose message brought so many files."""
    files = [AttachedFile(ref="ART-1", name=CANARY, mime="text/plain", size=size) for size in sizes]
    return Story().notify(TurnStart(input=CANARY, model=MODEL, trace_id=TRACE_ID, attachments=files), ms=0)
