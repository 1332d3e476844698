"""The tool calls of one message: intents recorded, run side by side, results in the order of the calls."""

import asyncio

from gateway.events.tool_calls import ToolCall
from gateway.ids import is_client_call
from gateway.messages import Message
from gateway.model.base import Answer
from gateway.tools.policy import verdict_of
from gateway.turn.client_calls import take_results
from gateway.turn.context import TurnContext
from gateway.turn.permission import apply_decisions, park, seek_permission, waiting_calls
from gateway.turn.tool_results import tool_result
from gateway.turn.tool_run import run_call

CONCURRENT_CALLS = 16
"""Calls of one message that run at the same time; more wait their turn."""

UNKNOWN_OUTCOME = (
    "The server stopped while this call ran. It may or may not have taken effect: verify before trying again."
)


def record_intents(turn: TurnContext, answer: Answer) -> None:
    """Emits a tool_call for every call of a complete message. One whose arguments are no JSON object never
    runs: it counts as effectful, so that it is not repeated if the process ends before the refusal."""
    tools, policy = turn.tools, turn.settings.tool_policy
    for call in answer.content:
        if call["type"] == "tool_use":
            name, call_id = call["name"], call["id"]
            known = name in tools and call_id not in answer.bad_inputs
            effect = tools.get(name).effect if known else "effectful"
            asks = name not in turn.prompt.client_tools and verdict_of(policy, name, effect).verdict == "ask"
            intent = ToolCall(
                name=name,
                arguments=call["input"],
                effect=effect,
                needs_approval=True if asks else None,
                runs_on="client" if is_client_call(call_id) else None,
            )
            turn.emit(intent, tool_call_id=call_id)


def refuse_bad_inputs(turn: TurnContext, answer: Answer) -> None:
    """Answers the calls whose arguments the model did not write as a JSON object."""
    for call_id, problem in answer.bad_inputs.items():
        if (state := turn.progress.calls.get(call_id)) is not None:
            content = f"The arguments are not a valid JSON object: {problem}. Nothing was run."
            turn.emit_result(call_id, tool_result(state.name, "error", content))


async def settle_interrupted(turn: TurnContext) -> None:
    """Answers open calls of a former process that may have run and must not be repeated. Those stay open that
    are read_only or idempotent, which run again under the same idempotency key, and those that a person has
    yet to decide about, or a client to answer."""
    async for call_id, state in turn.progress.open_calls():
        if state.may_have_run and not state.waits:
            turn.emit_result(call_id, tool_result(state.name, "unknown_outcome", UNKNOWN_OUTCOME))


async def run_tool_calls(turn: TurnContext) -> Message | None:
    """Runs the recorded calls that have no result yet and returns the message that answers all of them; None
    when the turn is suspended, because a person has to decide about one, or a client to run it.

    Every intent is durable before any tool starts, and every decision before the call it is about. The
    results are on their way to the log: the model's next answer follows them there.

    Raises:
        StorageError: the log failed. Exceptions of a tool become results.
    """
    await turn.emitter.flush()
    await seek_permission(turn)
    while True:
        await _run_permitted(turn)
        if not waiting_calls(turn):
            break
        decided, came = await apply_decisions(turn), await take_results(turn)
        if not decided and not came and await park(turn):
            return None
    return turn.progress.answers()


async def _run_permitted(turn: TurnContext) -> None:
    calls = turn.progress.calls.items()
    permitted = [(call_id, state) for call_id, state in calls if state.result is None and not state.waits]
    left = iter(permitted)

    async def run() -> None:
        for call_id, state in left:
            await turn.ensure_lease()
            turn.emit_result(call_id, await run_call(turn, call_id, state))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(CONCURRENT_CALLS, len(permitted))):
                group.create_task(run())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
