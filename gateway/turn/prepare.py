"""Preparation of a turn before the first model call: the session's history, and the prompt before its
messages.

begin or resume -> prompt components -> attachments -> memories: each takes the history and returns it,
    with the reason why a new prompt generation must begin, if there is one
-> at most one generation, with one warning for all reasons -> memories for the prompt and the message
"""

import re
from collections.abc import Awaitable, Callable

from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.history.summaries.summary import render_carried
from gateway.history.transcript import tools_read_in, with_message, without_turn
from gateway.ids import ARTIFACT_PATTERN
from gateway.storage.messages import GENERATION_OPEN, History
from gateway.turn.context import TurnContext
from gateway.turn.influence import brought_along
from gateway.turn.memory_context import add_changes, render_in_prompt, retrieve, revalidate
from gateway.turn.model_call_files import fit_attachments
from gateway.turn.prompt_generation import Reason, begin_generation
from gateway.turn.start_and_end import begin_turn
from gateway.turn.tool_calls import settle_interrupted

PROMPT_CHANGED = Reason(
    "prompt_changed", "The prompt before the conversation has changed since the last turn."
)
NO_TOOLS = "calls no tools, as its endpoint says: it answers without tools and skills."
CARRIED_SUMMARIES = 3
"""Summaries of a user's earlier sessions that a new one is shown."""


async def prepare(turn: TurnContext) -> None:
    """Gives the turn its history; afterwards it is ready for the model.

    Raises:
        ArchiveDamaged: the session's messages cannot be read.
        StorageError: the log failed.
    """
    history = await (_begin(turn) if turn.progress.started_at is None else _resume(turn))
    turn.progress.tools_read |= tools_read_in(history)
    if history.was_brought:
        turn.brought = await brought_along(turn.deps.turns, turn.settings, turn.row.session_id)
    reasons: list[Reason] = []
    for step in STEPS:
        history, reason = await step(turn, history)
        reasons += [reason] if reason is not None else []
    # GENERATION_OPEN: a compression changed the prefix during a turn; the new generation begins only now.
    if reasons or history.generation_from >= GENERATION_OPEN:
        history = await begin_generation(turn, history, reasons)
    history = await render_in_prompt(turn, history)
    history = await add_changes(turn, history)
    turn.set_history(await retrieve(turn, history))


async def read_components(turn: TurnContext, history: History) -> tuple[History, Reason | None]:
    """Warns of components that cannot be used. Another prefix than the last call had is a reason."""
    for warning in turn.prompt.components.warnings:
        turn.emit(TurnWarning(code="prompt_component", message=warning))
    before = turn.progress.prefix_hash or history.prefix_hash
    changed = before is not None and before != turn.prompt.prefix(history).prefix_hash
    if not turn.prompt.offers_tools and (before is None or changed):
        turn.emit(TurnWarning(code="tools_not_offered", message=f"{turn.row.model} {NO_TOOLS}"))
    return history, PROMPT_CHANGED if changed else None


STEPS: tuple[Callable[[TurnContext, History], Awaitable[tuple[History, Reason | None]]], ...] = (
    read_components,
    fit_attachments,
    revalidate,
)


async def _begin(turn: TurnContext) -> History:
    row, is_first = turn.row, turn.emitter.head == 0
    message = begin_turn(turn.emitter)
    if is_first:
        instructions = await turn.deps.sessions.instructions(row.session_id) if row.instructions else None
        carried = await _carry(turn) if turn.preloaded is None else None
        history, turn.preloaded = History([], carried=carried, instructions=instructions), None
    elif turn.preloaded is not None and (
        turn.settings.use_compressions or turn.preloaded.compression is None
    ):
        history, turn.preloaded = turn.preloaded, None
    else:
        history = without_turn(await _load(turn), row.id)
    return with_message(history, row.id, message)


async def _resume(turn: TurnContext) -> History:
    progress = turn.progress
    if progress.attempt_open:
        turn.emit(IterationSuperseded(attempt=progress.attempt, reason="server_restart", began=True))
    await settle_interrupted(turn)
    return await _load(turn)


async def _load(turn: TurnContext) -> History:
    whole = not turn.settings.use_compressions
    return await turn.deps.sessions.history(turn.row.session_id, whole=whole)


async def _carry(turn: TurnContext) -> str | None:
    """The summaries of its user's former sessions, for a new one."""
    settings, deps, row = turn.settings, turn.deps, turn.row
    if row.is_shared or row.is_temporary or not settings.session_summaries:
        return None
    rows = await deps.summaries.carried(
        row.session_id,
        row.owner,
        limit=CARRIED_SUMMARIES,
        any_role=settings.share_summaries == "project",
    )
    if not rows:
        return None
    text = render_carried(rows)
    await deps.sessions.carry(row.session_id, text)
    await deps.artifact_store.use(row.owner, row.session_id, set(re.findall(ARTIFACT_PATTERN, text)))
    return text
