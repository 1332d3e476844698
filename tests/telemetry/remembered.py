"""Changes of memories and runs of the keeper, as whoever makes them tells them. All they say is CANARY."""

from typing import Any

from gateway.events.content import RetrievalHit
from gateway.events.memory_skill_artifact import Memory
from gateway.memory import validation
from gateway.memory.changes import Changed
from gateway.memory.extraction.report import LearningReport
from gateway.storage.memories import Operation
from tests.product import Attribution, NewMemory, Retrieval, Scope, Usage
from tests.telemetry.story import CANARY, MODEL, Story

AT = 1_795_000_000_000
LEARNING_USAGE = Usage(input_tokens=200, output_tokens=40, cache_read_input_tokens=50)


def changed(
    operation: Operation, actor: str, *, turn_id: str | None = None, memory_id: str = "m_1", **fields: Any
) -> Changed:
    row = validation.make(NewMemory(CANARY, **fields), Scope("ada"), memory_id, AT)
    return Changed(row, operation, Attribution(actor, f"Because {CANARY}", turn_id))


def learned(**fields: Any) -> LearningReport:
    """One that took two seconds, and of three offers kept one."""
    given: dict[str, Any] = {
        "calls": 1,
        "usage": LEARNING_USAGE,
        "offered": 3,
        "changed": [changed("remembered", "keeper", turn_id="t_1")],
        "dropped": {"not_said": 1, "known": 1},
        **fields,
    }
    return LearningReport("s_1", MODEL, AT, AT + 2000, **given)


def recalled(story: Story, mode: str = "catalog", *, call: str | None = None, **fields: Any) -> Story:
    """Found three memories, of which the model knows one."""
    hits = [
        RetrievalHit(id=f"m_{number}", source="memory:user", snippet=CANARY, score=1, told=known)
        for number, known in enumerate(("now", "now", "before"))
    ]
    data = {"query": CANARY, "source": "memory", "results": hits, "tokens": 12, "mode": mode, **fields}
    return story.notify(Retrieval.model_validate(data), call=call)


def remembered(story: Story, op: str, by: str, *, call: str | None = None, **fields: Any) -> Story:
    data = {"op": op, "memory_id": "m_1", "kind": "preference", "content": CANARY, "reason": CANARY, "by": by}
    return story.notify(Memory.model_validate({**data, **fields}), call=call)
