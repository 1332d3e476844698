"""Checks whether a file is a complete and valid export. Nothing in it is trusted: a forged file must not do
more than its importer could have done over the API."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.errors import BadImport
from gateway.events.contract import EVENT
from gateway.events.session_changes import Feedback
from gateway.history.copies.archive_hashes import CoveredRanges
from gateway.history.copies.artifact_checks import CheckedArtifacts
from gateway.history.copies.block_checks import check_content
from gateway.history.copies.branch_checks import CheckedBranches
from gateway.history.copies.export import (
    EVENT_HEAD,
    FORMAT,
    NEWER_THAN,
    WITHOUT_ARTIFACTS,
    WITHOUT_BRANCHES,
    WITHOUT_INSTRUCTIONS,
    WITHOUT_ROLES,
    archived,
)
from gateway.history.copies.line_reader import copied, demand, valid, written_later
from gateway.history.sequence_gaps import SequenceGaps
from gateway.ids import is_id
from gateway.messages import Usage
from gateway.storage.sessions.copies import (
    ArtifactCopy,
    BranchCopy,
    InstructionsCopy,
    Moment,
    SessionCopy,
    SummaryCopy,
    TurnCopy,
    VersionCopy,
)

MAX_TURNS = 100_000
MAX_VERSIONS = 1_000

LATER_FIELDS: Mapping[str, Sequence[tuple[int, str, int | None]]] = {
    "session": (
        (WITHOUT_ROLES, "role_id", None),
        (WITHOUT_INSTRUCTIONS, "instructions", None),
        (WITHOUT_BRANCHES, "branch", None),
    ),
    "turn": (
        (WITHOUT_ARTIFACTS, "attachments", None),
        (WITHOUT_INSTRUCTIONS, "instructions", None),
        (WITHOUT_BRANCHES, "branch", 0),
        (WITHOUT_BRANCHES, "parent", None),
        (WITHOUT_BRANCHES, "origin", None),
    ),
    "compression": ((WITHOUT_BRANCHES, "branch", 0),),
}
"""Fields of lines, in their order, that a format and those before it do not have, and what was so then."""

ENVELOPE = '{"kind":"event","body":{"v":1,"seq":%d,"type":"%s","ts":%d,"session_id":"%s","turn_id":"%s",'


@dataclass(slots=True)
class TurnRange:
    """A turn's events, and how many of them were seen."""

    first: int
    last: int
    outcome: str
    seen: int = 0


@dataclass(slots=True)
class Check:
    """The state of a file's check."""

    session: SessionCopy | None = None
    instructions: dict[str, None] = field(default_factory=dict[str, None])
    turns: dict[str, TurnRange] = field(default_factory=dict[str, TurnRange])
    around: list[TurnRange] = field(default_factory=list[TurnRange])
    client_message_ids: set[str] = field(default_factory=set[str])
    versions: dict[int, VersionCopy] = field(default_factory=dict[int, VersionCopy])
    summary: SummaryCopy | None = None
    branches: CheckedBranches = field(default_factory=CheckedBranches)
    covered: CoveredRanges = field(default_factory=CoveredRanges)
    artifacts: CheckedArtifacts = field(default_factory=CheckedArtifacts)
    gaps: SequenceGaps = field(default_factory=SequenceGaps)
    form: int = FORMAT
    counts: Counter[str] = field(default_factory=Counter[str])
    said: int = 0
    starts: dict[str, int] = field(default_factory=dict[str, int])
    feedback: dict[str, Feedback] = field(default_factory=dict[str, Feedback])

    def take(self, kind: str, value: dict[str, Any], line: bytes, at: int) -> None:
        """A sound line, other than the last one, at the offset `at`."""
        if kind == "session":
            self._take_session(value)
            return
        self.starts.setdefault(kind, at)
        self.counts[kind] += 1
        demand(self.form > NEWER_THAN.get(kind, 0), f"format {self.form} has no {kind}")
        value = self._with_later_fields(kind, value)
        if kind == "turn":
            self._take_turn(copied(TurnCopy, value))
        elif kind == "instructions":
            self._take_instructions(copied(InstructionsCopy, value))
        elif kind == "branch":
            self._take_branch(copied(BranchCopy, value))
        elif kind == "compression":
            self._take_version(copied(VersionCopy, value))
        elif kind == "summary":
            self._take_summary(copied(SummaryCopy, value))
        elif kind == "artifact":
            self.artifacts.take(copied(ArtifactCopy, value), at)
        elif kind == "content":
            self.artifacts.part(value, at)
        elif kind == "message":
            self._take_message(value, line, at)
        else:
            self._take_event(value, line)

    @property
    def known(self) -> SessionCopy:
        assert self.session is not None
        return self.session

    def _take_session(self, value: dict[str, Any]) -> None:
        given = value.pop("format", None)
        if type(given) is not int or given not in range(1, FORMAT + 1):
            raise BadImport(f"The file has the format {given!r:.20}; this version reads 1 to {FORMAT}.")
        self.form = given
        self.session = session = copied(SessionCopy, self._with_later_fields("session", value))
        self.artifacts.session_id = session.id
        demand(session.epoch_from <= session.last_position, "epoch_from is beyond the last message")

    def _with_later_fields(self, kind: str, value: dict[str, Any]) -> dict[str, Any]:
        for form, name, then in LATER_FIELDS.get(kind, ()):
            if self.form <= form:
                value = written_later(value, name, then)
        return value

    def _take_instructions(self, copy: InstructionsCopy) -> None:
        demand(len(self.instructions) < MAX_TURNS, f"there are more than {MAX_TURNS} instructions")
        demand(copy.digest not in self.instructions, "the instructions are there twice")
        self.instructions[copy.digest] = None

    def _take_turn(self, turn: TurnCopy) -> None:
        self._check_instructions(turn.instructions)
        demand(self.counts["turn"] <= MAX_TURNS, f"there are more than {MAX_TURNS} turns")
        demand(turn.id not in self.turns, "the turn is there twice")
        demand(turn.first_seq <= turn.last_seq <= self.known.head, "the turn's events are not in the session")
        if turn.client_message_id is not None:
            demand(turn.client_message_id not in self.client_message_ids, "client_message_id is there twice")
            self.client_message_ids.add(turn.client_message_id)
        self.turns[turn.id] = TurnRange(turn.first_seq, turn.last_seq, turn.outcome)
        self.branches.take_turn(turn)

    def _check_instructions(self, digest: str | None) -> None:
        demand(digest is None or digest in self.instructions, "its instructions are not there")

    def _take_branch(self, branch: BranchCopy) -> None:
        self._check_instructions(branch.instructions)
        self.branches.take(branch, self.known.branch, self.known.last_position)

    def _take_version(self, version: VersionCopy) -> None:
        demand(len(self.versions) < MAX_VERSIONS, f"there are more than {MAX_VERSIONS} versions")
        demand(not self.versions or version.version > max(self.versions), "versions are not in order")
        branch, covered = self.branches.of(version, self.known.last_position), 0
        if version.parent is not None:
            demand(version.parent in self.versions, "the version's parent is not there")
            covered = self.versions[version.parent].to_position
        begins = self.branches.first_of(version, covered)
        demand(version.from_position == begins, f"the version must begin at position {begins}")
        demand(
            version.from_position <= version.to_position <= self.known.last_position,
            "the version covers messages that are not there",
        )
        demand(branch is None or branch.has(version.to_position), "the version ends in another branch")
        kept = version.kept_position
        demand(
            kept is None or kept <= version.to_position,  # a parent may cover it: a long turn is cut twice
            "the version keeps a message that it does not cover",
        )
        self.versions[version.version] = version
        self.covered.expect(version, branch)

    def _take_summary(self, summary: SummaryCopy) -> None:
        demand(self.summary is None, "there are two summaries")
        demand(summary.to_position <= self.known.last_position, "the summary is of messages not there")
        self.summary = summary

    def _take_message(self, value: dict[str, Any], line: bytes, at: int) -> None:
        position = self.counts["message"]
        demand(position <= self.known.last_position, "there are more messages than the session tells")
        demand(
            list(value) == ["position", "turn_id", "role", "content", "usage"]
            and type(value["position"]) is int
            and value["position"] == position
            and isinstance(value["turn_id"], str)
            and is_id(value["turn_id"])
            and value["role"] in ("user", "assistant"),  # of any type: not everything can be in a set
            f"it is not the message at position {position}",
        )
        check_content(value["content"], value["role"])
        self.said += len(line)
        if value["usage"] is not None:
            usage = valid(lambda: Usage.model_validate(value["usage"], strict=True))
            written = orjson.dumps(usage.model_dump())
            demand(written == orjson.dumps(value["usage"]), "the usage is not complete, or not in order")
        self.covered.take(position, archived(line) + b"\n", at)
        self.branches.take_message(position, value["turn_id"])

    def _take_event(self, value: dict[str, Any], line: bytes) -> None:
        body = value.get("body")
        demand(isinstance(body, dict) and list(value) == ["body"], "it is not an event")
        event = valid(lambda: EVENT.validate_json(line[len(EVENT_HEAD) : -1], strict=True))
        seq, expected = event.seq, self.gaps.last + 1
        demand(expected <= seq <= self.known.head, f"the event must have the seq {expected}")
        warning = event.data.model_dump() if event.type == "warning" else {}
        if (gap := self.gaps.next(seq, warning)) is not None:
            for span in self.around:  # the gap is within these: their next events must follow
                span.seen += gap[1] - gap[0] + 1 if span.last > gap[1] else 0
        demand(event.session_id == self.known.id, "the event is of another session")
        envelope = ENVELOPE % (seq, event.type, event.ts, event.session_id, event.turn_id)
        demand(line.startswith(envelope.encode()), "the parts of the event are not in their order")
        span = self.turns.get(event.turn_id)
        if span is None:
            demand(event.type != "done", "the event ends a turn that is not there")
            return
        if isinstance(event.data, Feedback):
            self._take_feedback(event.turn_id, span, seq, event.data)
            return
        demand(span.first <= seq <= span.last, "the event is outside of its turn")
        self._take_place(span, seq)
        demand((event.type == "done") == (seq == span.last), "the last event of a turn must be its only done")
        if event.type == "done":
            demand(event.data.status == span.outcome, "the turn ended otherwise than it tells")

    def _take_place(self, span: TurnRange, seq: int) -> None:
        """Turns follow each other; one that was cancelled while it waited may lie whole inside another."""
        while self.around and self.around[-1].last < seq:
            self.around.pop()
        if not self.around or self.around[-1] is not span:
            within = self.around[-1].last if self.around else None
            whole = span.outcome == "cancelled" and span.last == span.first + 1
            fits = within is None or (whole and span.last < within)
            demand(seq == span.first and fits, "the events of turns are mixed")
            self.around.append(span)
        span.seen += 1
        for outer in self.around[:-1]:
            outer.seen += 1

    def _take_feedback(self, turn_id: str, span: TurnRange, seq: int, data: Feedback) -> None:
        """It comes after its turn, maybe while another one ran."""
        demand(seq > span.last, "the feedback is not after its turn")
        for around in self.around:
            around.seen += seq < around.last
        self.feedback[turn_id] = data

    def finish(self) -> Moment:
        """All lines but the last were taken: do they make a session?"""
        session = self.known
        self._check_instructions(session.instructions)
        demand(self.counts["message"] == session.last_position, "messages are missing")
        demand(self.gaps.last == session.head and not self.gaps.unnamed, "events are missing")
        demand(
            all(span.seen == span.last - span.first + 1 for span in self.turns.values()),
            "events of a turn are missing",
        )
        demand(
            session.compression is None or session.compression in self.versions,
            "the version in force is not there",
        )
        self.branches.finish(session.branch, self.versions)
        self.covered.finish()
        self.artifacts.finish()
        return Moment(session, list(self.versions.values()), self.summary, branches=self.branches.found)
