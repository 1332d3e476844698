"""What must be true of every session's record, whatever happened to the server while it was written.

`violations` reads nothing but rows: events, turns and messages as they lie in the database. It trusts none of
the product's own checks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from gateway.events.contract import EVENT
from gateway.ids import OPERATION_PREFIX
from gateway.storage.sessions import SessionRow
from tests.product import Block, Message, StoredMessage, TurnRow

Body = dict[str, Any]
"""An event as a client reads it."""

BESIDE_TURNS = {"compression", "memory", "title"}
"""Types of events that may belong to an operation on a session in place of a turn."""
NEVER_RUNS = {None, "max_tokens", "model_context_window_exceeded", "refusal", "pause_turn"}


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """Whose turn a session's head says is open: a process's (`replica`), or parked until then."""

    id: str
    replica: str | None
    parked_until: int | None


@dataclass(frozen=True, slots=True)
class Record:
    """Everything that is kept of one session: events by seq, turns by first_seq, messages by position."""

    session: SessionRow
    events: Sequence[Body]
    turns: Sequence[TurnRow]
    messages: Sequence[StoredMessage]
    open: OpenTurn | None = None

    def of_turn(self, turn: TurnRow) -> list[Body]:
        """Without what a person thought of it later."""
        return [event for event in self.events if event["turn_id"] == turn.id and event["type"] != "feedback"]


@dataclass(slots=True)
class Attempt:
    """One attempt of a model call, as the events tell it. `fate`: open, won or superseded."""

    iteration: int
    number: int
    text: str = ""
    fate: str = "open"
    stop_reason: str | None = None
    calls: list[Body] = field(default_factory=list[Body])


def violations(record: Record, *, settled: bool = True) -> list[str]:
    """Every violation as a sentence; none is what is wanted. `settled` says that no turn should be open."""
    found = [*numbering(record), *ownership(record), *history(record)]
    for turn in record.turns:
        events = record.of_turn(turn)
        found += [f"turn {turn.id}: {what}" for what in bounds(turn, events, settled=settled)]
        found += [f"turn {turn.id}: {what}" for what in iterations(turn, events, record.messages)]
        found += [f"turn {turn.id}: {what}" for what in tool_calls(turn, events, record.messages)]
    return [f"session {record.session.id}: {what}" for what in found]


def numbering(record: Record) -> Iterator[str]:
    """Seq is gapless from 1, every event is of the contract, and turns that ran do not interleave. What came
    beside them, as the end of a turn that waited, is wherever the outbox was emptied."""
    seqs = [event["seq"] for event in record.events]
    if seqs != list(range(1, len(seqs) + 1)):
        yield f"the seqs are not 1 to {len(seqs)}: {seqs[:20]}"
    if record.session.head != len(seqs):
        yield f"the head is {record.session.head}, the last of {len(seqs)} events"
    order: list[str] = []
    beside = {turn.id for turn in record.turns if never_ran(record.of_turn(turn))}
    for event in record.events:
        try:
            EVENT.validate_python(event)
        except ValidationError as error:
            yield f"event {event['seq']} is not of the contract: {error}"
        if event["session_id"] != record.session.id:
            yield f"event {event['seq']} is of session {event['session_id']}"
        is_beside = event["turn_id"] in beside or event["turn_id"].startswith(OPERATION_PREFIX)
        is_beside = is_beside or event["type"] == "feedback"
        if not is_beside and (not order or order[-1] != event["turn_id"]):
            order.append(event["turn_id"])
    if len(set(order)) != len(order):
        yield f"the turns interleave: {order}"
    known = {turn.id for turn in record.turns}
    in_turns = {event["turn_id"] for event in record.events if event["type"] not in BESIDE_TURNS}
    if strangers := (set(order) | in_turns) - known:
        yield f"events of unknown turns {sorted(strangers)}"


def ownership(record: Record) -> Iterator[str]:
    """One turn runs at a time, a process has it or it is parked, and everything in a session has the
    session's owner."""
    running = [turn.id for turn in record.turns if turn.status == "running"]
    if len(running) > 1:
        yield f"several turns are running: {running}"
    if record.open is not None:
        if [record.open.id] != running:
            yield f"turn {record.open.id} is open, {running} are running"
        if (record.open.replica is None) == (record.open.parked_until is None):
            yield f"turn {record.open.id} must be a process's or parked: {record.open}"
    for turn in record.turns:
        if (turn.owner, turn.session_id) != (record.session.owner, record.session.id):
            yield f"turn {turn.id} belongs to {turn.owner}, session {turn.session_id}"
    asked = [turn.client_message_id for turn in record.turns if turn.client_message_id is not None]
    if len(set(asked)) != len(asked):
        yield f"a client_message_id has several turns: {asked}"


def bounds(turn: TurnRow, events: Sequence[Body], *, settled: bool) -> Iterator[str]:
    """An accepted turn begins with turn_start, ends with its one done, and its row says the same."""
    types = [event["type"] for event in events]
    seqs = [event["seq"] for event in events]
    dones = types.count("done")
    if settled and turn.status != "done":
        yield f"is still {turn.status}"
    if dones != (turn.status == "done"):
        yield f"has {dones} done events and is {turn.status}"
    if not events:
        return
    if types[0] != "turn_start" or types.count("turn_start") != 1:
        yield f"does not begin with its one turn_start: {types[:3]}"
    last_seq = seqs[-1] if turn.status == "done" else turn.last_seq
    if (turn.first_seq, turn.last_seq) != (seqs[0], last_seq):
        yield f"has the bounds {turn.first_seq} to {turn.last_seq}, its events are {seqs[0]} to {seqs[-1]}"
    if events[0]["data"].get("input") != turn.input:
        yield "began with another input than was accepted"
    if dones:
        if types[-1] != "done":
            yield f"goes on after done: {types[types.index('done') :]}"
        last = events[-1]["data"]
        if last.get("status") != turn.outcome:
            yield f"is {last.get('status')} in the log and {turn.outcome} in its row"
        if last.get("status") == "failed" and "error" not in types:
            yield "failed without an error event"


def attempts_of(events: Sequence[Body]) -> tuple[list[Attempt], list[str]]:
    """The attempts of a turn's model calls, and what is out of order in its events."""
    attempts: list[Attempt] = []
    wrong: list[str] = []

    for event in events:
        kind, data, iteration = event["type"], event["data"], event.get("iteration")
        last = attempts[-1] if attempts else None
        if kind == "iteration_start":
            if last is not None and last.fate == "open":
                wrong.append(f"event {event['seq']} starts an attempt while one is open")
            attempts.append(Attempt(iteration or 0, data["attempt"]))
        elif kind in {"text", "thinking", "iteration_end", "iteration_superseded"}:
            if last is None or last.fate != "open" or last.iteration != iteration:
                wrong.append(f"event {event['seq']} ({kind}) belongs to no open attempt")
            elif kind == "text":
                last.text += data["text"]
            elif kind == "iteration_end":
                last.fate, last.stop_reason = "won", data.get("stop_reason")
            elif kind == "iteration_superseded":
                last.fate = "superseded"
                if data["attempt"] != last.number:
                    wrong.append(
                        f"event {event['seq']} supersedes attempt {data['attempt']} of {last.number}"
                    )
        elif kind == "tool_call":
            if last is None or last.fate != "won" or last.stop_reason in NEVER_RUNS:
                wrong.append(f"event {event['seq']} calls a tool before its message is complete")
            else:
                last.calls.append(event)
    return attempts, wrong


def iterations(turn: TurnRow, events: Sequence[Body], messages: Sequence[StoredMessage]) -> Iterator[str]:
    """Each iteration has one winning attempt, whose pieces are the stored message's text."""
    attempts, wrong = attempts_of(events)
    yield from wrong
    numbers = [(attempt.iteration, attempt.number) for attempt in attempts]
    last = numbers[-1][0] if numbers else 0
    for number in range(1, last + 1):
        of_it = [attempt for attempt in attempts if attempt.iteration == number]
        if [attempt.number for attempt in of_it] != list(range(1, len(of_it) + 1)) or not of_it:
            yield f"iteration {number} has the attempts {[attempt.number for attempt in of_it]}"
        fates = [attempt.fate for attempt in of_it]
        open_end = number == last and turn.outcome != "completed"
        if fates.count("won") != 1 and not (open_end and fates.count("won") == 0):
            yield f"iteration {number} was won {fates.count('won')} times"
        if turn.status == "done" and "open" in fates:
            yield f"iteration {number} was never ended"
    if numbers != sorted(numbers):
        yield f"the iterations are out of order: {numbers}"
    texts = [attempt.text for attempt in attempts if speaks(attempt)]
    kept = [text_of(message) for message in of_role("assistant", turn, messages)]
    if texts != [text for text in kept if text is not None]:
        yield f"the pieces say {texts}, the messages {kept}"


def speaks(attempt: Attempt) -> bool:
    """Whether the attempt has a message in the history."""
    has_content = bool(attempt.text.strip() or attempt.calls)
    return attempt.fate == "won" and attempt.stop_reason != "refusal" and has_content


def text_of(message: Message) -> str | None:
    """The text of a message; None when it neither says nor calls anything."""
    text = "".join(block["text"] for block in message.content if block["type"] == "text")
    return text if text.strip() or of_type("tool_use", message) else None


def tool_calls(turn: TurnRow, events: Sequence[Body], messages: Sequence[StoredMessage]) -> Iterator[str]:
    """Intent, then one result, for each call of the stored messages; the model reads just those results."""
    intents = {event["tool_call_id"]: event for event in events if event["type"] == "tool_call"}
    results = [event for event in events if event["type"] == "tool_result"]
    by_call = {event["tool_call_id"]: event for event in results}
    if len(intents) != sum(event["type"] == "tool_call" for event in events):
        yield "records the intent of a call twice"
    if len(by_call) != len(results):
        yield "records the result of a call twice"
    for call_id, result in by_call.items():
        if call_id not in intents or intents[call_id]["seq"] > result["seq"]:
            yield f"call {call_id} has a result without an intent before it"
    if turn.status == "done" and (unanswered := set(intents) - set(by_call)):
        yield f"the calls {sorted(unanswered)} have no result"
    stored = [
        block for message in of_role("assistant", turn, messages) for block in of_type("tool_use", message)
    ]
    if [(block["id"], block["name"], block["input"]) for block in stored] != [
        (call_id, intent["data"]["name"], intent["data"]["arguments"]) for call_id, intent in intents.items()
    ]:
        yield "the calls in the log are not those of the messages"
    yield from answers(turn, messages, by_call)


def answers(turn: TurnRow, messages: Sequence[StoredMessage], results: Mapping[str, Body]) -> Iterator[str]:
    """What the model reads as a call's result is what the log says."""
    for message in of_role("user", turn, messages):
        for block in of_type("tool_result", message):
            result = results.get(block["tool_use_id"])
            if result is None:
                yield f"the model reads a result of {block['tool_use_id']} that the log does not have"
            elif block["content"] != (result["data"]["content"] or "(no output)"):
                yield f"the model reads another result of {block['tool_use_id']} than the log has"


def begins_with(text: str | None, turn: TurnRow, record: Record) -> bool:
    """Whether a turn's first message is what the user said; a schedule's stands in tags of its own."""
    if record.of_turn(turn)[0]["data"].get("dialect") != "schedule":
        return text == turn.input
    wrapped = rf"<scheduled_message>\n[^\n]+\n\n{re.escape(turn.input)}\n</scheduled_message>"
    return re.fullmatch(wrapped, text or "") is not None


def history(record: Record) -> Iterator[str]:
    """The history is one the model accepts: the user first, nothing empty, every call answered next."""
    messages = [stored.message for stored in record.messages]
    positions = [stored.position for stored in record.messages]
    if positions != sorted(set(positions)):
        yield f"the positions are {positions}"
    if messages and messages[0].role != "user":
        yield "the first message is not the user's"
    called: list[str] = []
    for message, stored in zip(messages, record.messages, strict=True):
        where = f"message {stored.position}"
        if not message.content or any(is_empty(block) for block in message.content):
            yield f"{where} has empty content"
        answered = [block["tool_use_id"] for block in of_type("tool_result", message)]
        if answered != called:
            yield f"{where} answers {answered}, the calls before it are {called}"
        called = [block["id"] for block in of_type("tool_use", message)]
    if called and all(turn.status == "done" for turn in record.turns):
        yield f"the calls {called} are never answered"
    for turn in record.turns:
        first = next((stored.message for stored in record.messages if stored.turn_id == turn.id), None)
        if first is None:
            if (events := record.of_turn(turn)) and not never_ran(events):
                yield f"turn {turn.id} has no message"
        elif first.role != "user" or not begins_with(text_of(first), turn, record):
            yield f"turn {turn.id} does not begin with what the user said"


def never_ran(events: Sequence[Body]) -> bool:
    """Whether these are the events of a turn that was cancelled while it waited: no model heard of it."""
    if [event["type"] for event in events] != ["turn_start", "done"]:
        return False
    done = events[-1]["data"]
    return (done["status"], done["iterations"]) == ("cancelled", 0)


def of_role(role: str, turn: TurnRow, messages: Sequence[StoredMessage]) -> list[Message]:
    return [
        stored.message for stored in messages if stored.turn_id == turn.id and stored.message.role == role
    ]


def of_type(block_type: str, message: Message) -> list[Block]:
    return [block for block in message.content if block["type"] == block_type]


def is_empty(block: Block) -> bool:
    return block["type"] == "text" and not block["text"].strip()
