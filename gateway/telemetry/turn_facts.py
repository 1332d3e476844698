"""The facts that the observer folds from the events of a turn, and the protocol of its readers.

All times are Unix milliseconds as the events carry them, so spans and metrics agree with the log.
"""

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import INVALID_SPAN, Span

from gateway.artifacts.store_events import ArtifactEvent
from gateway.events.envelope import StoredEvent
from gateway.ids import trace_id_of
from gateway.memory.changes import Changed
from gateway.memory.extraction.report import LearningReport
from gateway.messages import Usage
from gateway.model.side_calls import ModelCall
from gateway.storage.webhooks import DeliveryAttempt
from gateway.telemetry.metrics.buckets import SECONDS
from gateway.telemetry.metrics.counters import Tally
from gateway.telemetry.tool_facts import ApprovalState, SkillUse, ToolRun

_GAPS = tuple(round(bound * 1000) for bound in SECONDS)


@dataclass(slots=True, kw_only=True)
class Call(ModelCall):
    """A model call of a turn: an iteration with all its attempts, as its events have it.

    Deltas and first content are those of the latest attempt; `gaps` are the milliseconds between the deltas
    of all attempts. `cut` is true when the answer is not complete, for any reason; `error` is the in-stream
    code of that reason, or while the call is open the one of the latest failed attempt. `prefix_hash` and
    `components` (digests by name) identify the prompt; `instructions_tokens` is the size of the client's
    instructions in it, `prompt_profile` and `tools_left_out` as in `IterationStart`.
    """

    iteration: int
    text_deltas: int = 0
    thinking_deltas: int = 0
    last_content_at: int = 0
    gaps: Tally = field(default_factory=lambda: Tally(_GAPS))
    cut: bool = False
    prefix_hash: str | None = None
    components: dict[str, str] | None = None
    instructions_tokens: int | None = None
    prompt_profile: str | None = None
    tools_left_out: list[str] | None = None
    first_seq: int = 0
    last_seq: int = 0
    span: Span = INVALID_SPAN


@dataclass(slots=True)
class TurnFacts:
    """A turn this process has seen something of.

    `whole` is false when its beginning is not known; `resumed` is true when a former process began it.
    `queued_ms` is how long it waited before `started_at`, `owner` the user id, where that is known;
    `dialect` is that of its turn_start; `attachments` and `attached_size` count the files of its message and
    their bytes. `call` is the open model call, `answered` one whose tool calls are being recorded, `tools`
    the open tool runs by call id. `waiting_since` is when there was nothing left to do but to wait for a
    person, None while there is; `waited_ms` adds up the times that it was so, `silent_ms` those of them
    before its first text.
    `outcome` and `totals` (the data of `done`) are set when it is over; `error` is the code of its last
    `error` event.
    """

    id: str
    session_id: str
    trace_id: str
    model: str | None
    whole: bool
    started_at: int
    first_seq: int
    last_seq: int
    seen_at: int
    owner: str | None = None
    queued_ms: int = 0
    dialect: str | None = None
    attachments: int = 0
    attached_size: int = 0
    resumed: bool = False
    call: Call | None = None
    answered: Call | None = None
    tools: dict[str, ToolRun] = field(default_factory=dict[str, ToolRun])
    waiting_since: int | None = None
    waited_ms: int = 0
    silent_ms: int = 0
    has_text: bool = False
    iterations: int = 0
    tool_calls: int = 0
    error: str | None = None
    outcome: str | None = None
    totals: dict[str, Any] = field(default_factory=dict[str, Any])
    span: Span = INVALID_SPAN

    @classmethod
    def first_seen(cls, session_id: str, event: StoredEvent, body: dict[str, Any]) -> "TurnFacts":
        """The turn as of its first event here; `body` is that of the event."""
        whole, data = event.type == "turn_start", body["data"]
        attached = data.get("attachments", ()) if whole else ()
        return cls(
            id=event.turn_id,
            session_id=session_id,
            trace_id=data["trace_id"] if whole else trace_id_of(event.turn_id),
            model=data["model"] if whole else None,
            whole=whole,
            resumed=not whole,
            started_at=body["ts"],
            first_seq=event.seq,
            last_seq=event.seq,
            seen_at=body["ts"],
            queued_ms=data.get("queued_ms", 0) if whole else 0,
            dialect=data.get("dialect") if whole else None,
            attachments=len(attached),
            attached_size=sum(each["size"] for each in attached),
        )

    def note_wait(self, at: int) -> None:
        """Its tools changed: it waits when each that is open waits for a person, or the user's client."""
        waits = bool(self.tools) and all(run.waits for run in self.tools.values())
        if waits and self.waiting_since is None:
            self.waiting_since = at
        elif not waits and self.waiting_since is not None:
            waited = max(at - self.waiting_since, 0)
            self.waiting_since = None
            self.waited_ms += waited
            self.silent_ms += 0 if self.has_text else waited


@dataclass(frozen=True, slots=True)
class SessionArchived:
    """A session that moved to its archive, or failed to (`error`, a code). Times are Unix milliseconds."""

    session_id: str
    started_at: int
    ended_at: int
    error: str | None = None

    @property
    def trace_id(self) -> str:
        """Of its trace: follows from the session and the time when the move began."""
        return trace_id_of(f"archive {self.session_id} {self.started_at}")


class TelemetryReader:
    """Called with facts, in order. A reader overrides what it needs and must not raise.

    Every `turn_started` is followed by exactly one `turn_ended`, `turn_lost` or `turn_left`. Unless the turn
    is left, every `call_started` is followed by one `call_ended`, every `tool_started` by one `tool_ended`,
    and every `approval_asked` by one `approval_ended` before that.
    """

    gathers = False
    """Whether `delta` and `on_event` are for this reader; also with what was recalled of a turn's
    beginning."""

    def delta(self, turn: TurnFacts, call: Call, event: StoredEvent) -> None:
        """A delta of text or thinking, not parsed: this runs for every token."""

    def on_event(self, turn: TurnFacts, body: dict[str, Any]) -> None:
        """Any other event of a turn as the log has it, before the fact that follows from it."""

    def turn_started(self, turn: TurnFacts) -> None:
        """A turn began, or the first event here of one that began in a former process was seen. What is open
        of the latter comes next."""

    def call_started(self, turn: TurnFacts, call: Call) -> None:
        """A model call began."""

    def call_retried(self, turn: TurnFacts, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        """Attempt number `call.attempts` failed and is replaced; `usage` is what it had reported."""

    def call_ended(self, turn: TurnFacts, call: Call) -> None:
        """A model call is complete, failed or cut short."""

    def tool_started(self, turn: TurnFacts, run: ToolRun) -> None:
        """A tool call's intent is recorded."""

    def approval_asked(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        """A person is asked whether the call may run."""

    def approval_ended(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        """It is decided whether the call may run, by a person or a rule, also without `approval_asked`; or it
        will not be decided (`decision` is None)."""

    def skill_used(self, turn: TurnFacts, run: ToolRun | None, use: SkillUse) -> None:
        """A `skill` event."""

    def on_steps(self, turn: TurnFacts, run: ToolRun) -> None:
        """A tool call has its result, its steps are in `run`; `tool_ended` is next."""

    def tool_ended(self, turn: TurnFacts, run: ToolRun) -> None:
        """A tool call has its result, or will never get one (`status` is None)."""

    def retrieved(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        """Something was looked up, by a tool or (None) for the turn; `data` is the event's."""

    def remembered(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        """A `memory` event: a memory was changed by a tool, or (None) beside the calls of the turn."""

    def offloaded(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        """An `artifact` event: a result of that call, or (None) of one that this process knows nothing of,
        was offloaded."""

    def warned(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        """A `warning` event."""

    def failed(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        """An `error` event."""

    def operated(self, body: dict[str, Any]) -> None:
        """An event that belongs to no turn, as the log has it: its turn_id is the operation's id. Comes
        before the fact that follows from it."""

    def compressed(self, turn: TurnFacts | None, session_id: str, data: dict[str, Any], at: int) -> None:
        """A `compression` event: one began, is done or failed, in a turn or (None) by itself."""

    def rated(self, body: dict[str, Any]) -> None:
        """A `feedback` event, as the log has it: of a turn that is over."""

    def turn_ended(self, turn: TurnFacts) -> None:
        """The turn is over; `turn.outcome` and `turn.totals` are final."""

    def turn_lost(self, turn: TurnFacts) -> None:
        """The turn is no longer followed: its end was not seen in time."""

    def turn_left(self, turn: TurnFacts) -> None:
        """This process ends before the turn does, or the turn waits for a person: the process that goes on
        with it knows it from its first event."""
        self.turn_lost(turn)

    def archived(self, archived: SessionArchived) -> None:
        """A session was moved to its archive, or could not be."""

    def memory_changed(self, changed: Changed) -> None:
        """A memory was changed by this process, in any way. What turns do comes to `remembered` as well."""

    def artifact_event(self, event: ArtifactEvent) -> None:
        """Something happened to an artifact in this process, over any interface. What turns keep of tool
        results comes to `offloaded` as well."""

    def learned(self, run: LearningReport) -> None:
        """A conversation was read for what is worth remembering."""

    def webhook_tried(self, tried: DeliveryAttempt) -> None:
        """Something was posted to a webhook, or could not be."""

    def model_called(self, call: ModelCall) -> None:
        """A model was asked beside the answers of turns: once, when the call is over."""
