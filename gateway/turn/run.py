"""One turn from its first event to how it ends. Read this first.

    turn_start -> prepare: history, prompt components, files, memories
        -> loop (compress if too long, ask, run tools, ...) -> ending, or suspended for a person's decision

A turn that another process left open, or that was suspended, enters here too: its events are reduced to
`TurnProgress` before, and each step that is done already is not done again. The caller (runner.py) finalizes
the turn with the ending."""

from gateway.errors import ArchiveDamaged, GatewayError, ModelError, TooManyToolCalls
from gateway.storage.messages import History
from gateway.turn.agent_loop import run_agent_loop
from gateway.turn.context import TurnContext
from gateway.turn.context_limits import facts_asked
from gateway.turn.dependencies import TurnDependencies
from gateway.turn.emitter import Emitter
from gateway.turn.memory_context import record_citations
from gateway.turn.prepare import prepare
from gateway.turn.start_and_end import COMPLETED, Ending, TurnBounds, ended_with_warning, failed


async def run_turn(
    deps: TurnDependencies, emitter: Emitter, limits: TurnBounds, preloaded: History | None = None
) -> Ending | None:
    """Runs the turn of `emitter` to its ending; a failure of the model is one. None: it was suspended, or
    is left to another replica.
    `preloaded` is the session's history before the turn, where it was read already.

    Raises:
        StorageError: the log failed.
        asyncio.CancelledError: the turn was stopped.
    """
    if emitter.progress.done:
        raise GatewayError(f"Turn {emitter.turn.id} is over already.")
    try:
        if len(emitter.progress.calls) > deps.settings.max_tool_calls:  # recorded under another limit
            raise TooManyToolCalls(deps.settings.max_tool_calls)
        row = emitter.turn
        brought = row.client_tools
        tools = await deps.turns.client_tools(row.session_id, brought) if brought is not None else ()
        await facts_asked(deps)
        turn = TurnContext(deps, emitter, limits, preloaded, tools)
        await prepare(turn)
        ending = await run_agent_loop(turn)
    except ArchiveDamaged as error:
        return failed("archive_damaged", error.message, retryable=False)
    except TooManyToolCalls as error:
        return ended_with_warning("limit_reached", error.code, error.message)
    except ModelError as error:
        return failed(error.code, error.message, retryable=error.retryable)  # pyright: ignore[reportArgumentType] - a ModelError's code is one of the in-stream codes
    if ending is COMPLETED:
        record_citations(turn)
    return ending
