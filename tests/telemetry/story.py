"""A turn told in events, as the log would hand them to its readers."""

from typing import Any, Literal

from gateway.events.content import RetrievalHit, Thinking
from gateway.events.contract import EVENT
from gateway.events.lifecycle import IterationEnd, IterationStart
from gateway.events.memory_skill_artifact import Skill
from gateway.events.tool_calls import ApprovalRequest, ApprovalResponse, ToolCall
from tests.product import (
    CallResult,
    Done,
    EventData,
    Retrieval,
    StoredEvent,
    Text,
    TurnStart,
    Usage,
    encode,
    encode_data,
    encode_scope,
)

MODEL = "claude-sonnet-5-5"
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
CANARY = "canary-7f3a"
"""In every place of a story that is content; it must turn up nowhere else."""


class Story:
    """Appends one valid event at a time, by default 10 ms after the one before."""

    def __init__(self, turn_id: str = "t_1", *, session_id: str = "s_1", at: int = 1_795_000_000_000) -> None:
        self.session_id = session_id
        self.turn_id = turn_id
        self.at = at
        self.started_at = at
        self.events: list[StoredEvent] = []

    def notify(
        self, data: EventData, *, ms: int = 10, iteration: int | None = None, call: str | None = None
    ) -> "Story":
        self.at += ms
        body = encode(
            len(self.events) + 1,
            data.event_type,
            self.at,
            encode_scope(self.session_id, self.turn_id),
            encode_data(data),
            iteration,
            call,
        )
        EVENT.validate_json(body)
        self.events.append(StoredEvent(len(self.events) + 1, data.event_type, self.turn_id, body))
        return self

    def begin(self, trace_id: str = TRACE_ID) -> "Story":
        return self.notify(TurnStart(input=f"Hi {CANARY}", model=MODEL, trace_id=trace_id), ms=0)

    def ask(self, iteration: int = 1, *, attempt: int = 1) -> "Story":
        return self.notify(IterationStart(attempt=attempt, model=MODEL), iteration=iteration)

    def say(self, *pieces: str, iteration: int = 1) -> "Story":
        for piece in pieces:
            self.notify(Text(text=piece), iteration=iteration)
        return self

    def think(self, piece: str, iteration: int = 1) -> "Story":
        return self.notify(Thinking(text=piece), iteration=iteration)

    def answered(
        self, stop_reason: str | None, usage: Usage | None, *, iteration: int = 1, cost: float | None = None
    ) -> "Story":
        end = IterationEnd(stop_reason=stop_reason, usage=usage, cost=cost, ttft_ms=15, duration_ms=90)
        return self.notify(end, iteration=iteration)

    def call(
        self, name: str, call_id: str, *, iteration: int = 1, runs_on: Literal["client"] | None = None
    ) -> "Story":
        intent = ToolCall(name=name, arguments={"query": CANARY}, effect="read_only", runs_on=runs_on)
        return self.notify(intent, iteration=iteration, call=call_id)

    def found(self, source: str, *, call: str | None = None) -> "Story":
        hit = RetrievalHit(id="h1", source=source, snippet=CANARY, score=1)
        return self.notify(Retrieval(query=CANARY, source=source, results=[hit], tokens=12), call=call)

    def asked(self, name: str, call_id: str, *, iteration: int = 1) -> "Story":
        request = ApprovalRequest(name=name, arguments={"query": CANARY}, reason=f"It sends {CANARY}")
        return self.notify(request, iteration=iteration, call=call_id)

    def decided(
        self, call_id: str, decision: str, by: str, *, ms: int = 10, iteration: int = 1, **more: Any
    ) -> "Story":
        data = {"decision": decision, "by": by, "reason": f"Because {CANARY}", **more}
        return self.notify(ApprovalResponse.model_validate(data), ms=ms, iteration=iteration, call=call_id)

    def used(self, skill: str, action: str, call_id: str, **more: Any) -> "Story":
        data = {"name": skill, "type": "markdown", "action": action, "reason": f"As {CANARY} says", **more}
        return self.notify(Skill.model_validate(data), iteration=1, call=call_id)

    def result(
        self,
        name: str,
        call_id: str,
        status: str = "ok",
        *,
        duration_ms: int = 40,
        ms: int = 10,
        iteration: int = 1,
        **more: Any,
    ) -> "Story":
        data = {"name": name, "status": status, "content": CANARY, "duration_ms": duration_ms, **more}
        return self.notify(CallResult.model_validate(data), ms=ms, iteration=iteration, call=call_id)

    def done(
        self,
        status: str = "completed",
        *,
        usage: Usage | None = None,
        cost: float | None = None,
        iterations: int = 1,
        usage_unreported: int | None = None,
        ttft_ms: int | None = None,
    ) -> "Story":
        self.at += 10
        data = Done.model_validate(
            {
                "status": status,
                "usage": usage,
                "cost": cost,
                "iterations": iterations,
                "usage_unreported": usage_unreported,
                "duration_ms": self.at - self.started_at,
                "ttft_ms": ttft_ms,
            }
        )
        return self.notify(data, ms=0)


FIRST_USAGE = Usage(
    input_tokens=100, output_tokens=20, cache_read_input_tokens=1000, cache_creation_input_tokens=300
)
SECOND_USAGE = Usage(input_tokens=150, output_tokens=30)


def with_tools(turn_id: str = "t_1") -> Story:
    """Thinks, searches and calculates at the same time, then answers."""
    return (
        Story(turn_id)
        .begin()
        .ask()
        .think(f"hm {CANARY}")
        .say(f"Let me see {CANARY}", " ...")
        .answered("tool_use", FIRST_USAGE, cost=0.25)
        .call("search_docs", "toolu_1")
        .call("calculate", "toolu_2")
        .found("docs", call="toolu_1")
        .result("calculate", "toolu_2", "error", duration_ms=20)
        .result("search_docs", "toolu_1")
        .ask(2)
        .say(f"So {CANARY}", iteration=2)
        .answered("end_turn", SECOND_USAGE, iteration=2, cost=0.5)
        .done(usage=FIRST_USAGE + SECOND_USAGE, cost=0.75, iterations=2)
    )


HOUR = 3_600_000


def with_approval(turn_id: str = "t_1") -> Story:
    """Asks whether it may send something, searches meanwhile, waits an hour for a person, sends it in two
    steps, and says so."""
    step = {"step_id": "step-1", "step_name": "look up", "input": CANARY, "output": CANARY, "duration_ms": 15}
    failed = {"step_id": "step-2", "step_name": "送信", "duration_ms": 20, "error": "TimeoutError"}
    likes = {
        "owner_type": "user",
        "owner_id": "ada",
        "type": "preference",
        "importance": 3,
        "content": CANARY,
    }
    story = Story(turn_id).begin().ask().answered("tool_use", FIRST_USAGE)
    story.call("send", "toolu_1").call("search_docs", "toolu_2").asked("send", "toolu_1")
    story.result("search_docs", "toolu_2").decided("toolu_1", "approved", "ada", ms=HOUR, scope="session")
    steps = [{**step, "timestamp": story.at + 5}, failed]
    story.result("send", "toolu_1", duration_ms=45, ms=50, steps=steps, memory_writes=[likes])
    story.ask(2).say("Sent", iteration=2).answered("end_turn", SECOND_USAGE, iteration=2)
    return story.done(usage=FIRST_USAGE + SECOND_USAGE, iterations=2)
