"""The tool calls of one message: intents recorded, run side by side, results in the order of the calls."""

import asyncio
from collections.abc import Sequence

from gateway.events.calls import ToolCall
from gateway.messages import Message
from gateway.model.base import Answer
from gateway.skills.catalog import Catalog
from gateway.tools.policy import verdict_of
from gateway.tools.registry import Tools
from gateway.turn.answering import answer_call, answer_of
from gateway.turn.emitter import Emitter
from gateway.turn.parts import Parts
from gateway.turn.permission import hear_decisions, open_calls, park, seek_permission, waiting_calls
from gateway.turn.progress import CallState
from gateway.turn.tool_run import run_call, tool_result

CONCURRENT_CALLS = 16
"""Calls of one message that run at the same time; more wait their turn."""

UNKNOWN_OUTCOME = (
    "The server stopped while this call ran. It may or may not have taken effect: verify before trying again."
)


def record_intents(answer: Answer, tools: Tools, emitter: Emitter, policy: Sequence[str]) -> None:
    """Emits a tool_call for every call of a complete message. One whose arguments are no JSON object never
    runs: it counts as effectful, so that nobody repeats it should the process end before it is refused."""
    for call in answer.content:
        if call["type"] == "tool_use":
            name, call_id = call["name"], call["id"]
            known = name in tools and call_id not in answer.bad_inputs
            effect = tools.get(name).effect if known else "effectful"
            asks = verdict_of(policy, name, effect).verdict == "ask"
            intent = ToolCall(
                name=name, arguments=call["input"], effect=effect, needs_approval=True if asks else None
            )
            emitter.emit(intent, tool_call_id=call_id)


def refuse_bad_inputs(answer: Answer, emitter: Emitter) -> None:
    """Answers the calls whose arguments the model did not write as a JSON object."""
    for call_id, problem in answer.bad_inputs.items():
        if (state := emitter.progress.calls.get(call_id)) is not None:
            content = f"The arguments are not a valid JSON object: {problem}. Nothing was run."
            answer_call(emitter, call_id, tool_result(state.name, "error", content))


def settle_interrupted(emitter: Emitter) -> None:
    """Answers open calls of a former process that may have run and must not be repeated. Those stay open that
    are read_only or idempotent, which run again under the same idempotency key, and those that a person has
    yet to decide about."""
    for call_id, state in open_calls(emitter).items():
        if state.may_have_run:
            answer_call(emitter, call_id, tool_result(state.name, "unknown_outcome", UNKNOWN_OUTCOME))


async def run_tool_calls(parts: Parts, catalog: Catalog, tools: Tools, emitter: Emitter) -> Message | None:
    """Runs the recorded calls that have no result yet and returns the message that answers all of them; None
    when the turn was parked, because a person has to decide about one.

    Every intent is durable before any tool starts, every decision before the call it is about, every result
    before the model is asked again.

    Raises:
        StorageError: the log failed. Whatever a tool raises becomes a result.
    """
    await emitter.settled()
    await seek_permission(parts, catalog, tools, emitter)
    while True:
        await _run_permitted(parts, tools, emitter)
        if not waiting_calls(emitter):
            break
        if not await hear_decisions(parts, catalog, emitter) and await park(parts, emitter):
            return None
    await emitter.settled()
    return answer_of({call_id: state.result for call_id, state in emitter.progress.calls.items()})


async def _run_permitted(parts: Parts, tools: Tools, emitter: Emitter) -> None:
    places = asyncio.Semaphore(CONCURRENT_CALLS)

    async def answer(call_id: str, state: CallState) -> None:
        async with places:
            result = await run_call(call_id, state, tools, emitter, parts)
        answer_call(emitter, call_id, result)

    try:
        async with asyncio.TaskGroup() as group:
            for call_id, state in open_calls(emitter).items():
                if not state.waits:
                    group.create_task(answer(call_id, state))
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
