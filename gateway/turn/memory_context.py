"""The memories of a turn: those in its prompt, which stay for a prompt generation, and those retrieved for
its message. Where the memory fails, the turn goes on without it and warns.

    revalidate: what became of the memories in context? -> render_in_prompt: the snapshot in the prompt, anew
        when a prompt generation begins -> add_changes: what was changed since, after the message
        -> retrieve: the memories that fit the message, after it

When a memory in the prompt is forgotten, a prompt generation begins, so that its words leave the prompt. New
and corrected memories are appended at the end and leave the bytes before them unchanged.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from gateway.errors import StorageError
from gateway.events.content import Retrieval
from gateway.events.lifecycle import TurnWarning
from gateway.history.transcript import is_forgotten, last_position, with_message
from gateway.memory.households import households_of
from gateway.memory.recall import InContext, Recall
from gateway.memory.retrieval_events import SOURCE, changes_event, search_event, snapshot_event
from gateway.memory.snapshot import digest_of
from gateway.messages import FORGOTTEN, RECALLED, Message, Recalled, recalled_block, recalled_in
from gateway.storage.memories import MemoryRow, Scope, shared_scope
from gateway.storage.messages import History, PromptMemories
from gateway.turn.context import MemoryState, TurnContext
from gateway.turn.prompt_generation import Reason

NOT_READ = -1
"""In the place of `generation_from`: the memory could not be read at the start of the prompt generation."""

CHANGED = Reason(
    "memory_changed",
    "Something that this session was told of the memories was forgotten, or a profile was changed: it is "
    "taken out.",
)
READ_AT_LAST = Reason("memory_changed", "The memory can be read again and stands in the prompt from now on.")
UNAVAILABLE = "The memory could not be read: this turn goes on without it."


async def revalidate(turn: TurnContext, history: History) -> tuple[History, Reason | None]:
    """The history, with no memories in its prompt where they are switched off (what was forgotten stays so),
    and the reason for a new prompt generation: memories in context were forgotten. Their present state is in
    `turn.memories`."""
    if turn.memory is None:
        prompted = history.memories
        return (replace(history, memories=replace(prompted, text="")) if prompted else history), None
    recall, recalled = turn.memory.recall, recalled_in_view(history)
    before = history.memories or PromptMemories("", {}, history.generation_from)
    try:
        scope = scope_of(turn)
        if history.memories is None and not recalled and await recall.is_empty(scope):
            turn.memories = MemoryState(empty=True)
            return history, None
        found = await recall.revalidate(scope, digests_of(history))
    except StorageError:
        _unavailable(turn)
        return history, None
    state, outdated = found.state, found.outdated or before.generation_from == NOT_READ
    known, found_before = known_of(history, state.rows), turn.memories.found
    turn.memories = MemoryState(state.rows, known, state, outdated, found=found_before)
    if not outdated or _is_fresh(turn, history) or _has_begun(turn, history):
        return history, None
    return history, READ_AT_LAST if before.generation_from == NOT_READ else CHANGED


async def render_in_prompt(turn: TurnContext, history: History) -> History:
    """The history with the memories that its prompt has: the same within a generation, a new snapshot when
    one has begun. Comes after `revalidate`, and after the generation that it asked for."""
    if turn.memory is None or turn.memories.empty:
        return history
    if not turn.memories.unavailable:
        try:
            return await _render_in_prompt(turn, history, turn.memory.recall)
        except StorageError:
            _unavailable(turn)
    if history.memories is None and _is_fresh(turn, history):
        history = await _prompted(turn, history, PromptMemories("", {}, NOT_READ))
    # Memories in the prompt stay there: to take them out would begin a generation.
    return history


async def add_changes(turn: TurnContext, history: History) -> History:
    """The history with the changes of memories since the session began, in a message after the turn's own,
    before the first model call. Changes by the session's own turns are recorded only: the model knows
    them."""
    memory, state, row = turn.memory, turn.memories, turn.row
    if (
        memory is None
        or not row.input.strip()
        or not _may_add(turn)
        or recalled_in_view(history, row.id, changes=True)
    ):
        return history
    turns = {item.turn_id for item in history.messages}
    known, scope = digests_of(history), scope_of(turn)
    try:
        if history.memories is None:  # there was no memory when the session began
            began = (await turn.deps.sessions.get(row.session_id, row.session_owner)).created_at
            prompted = PromptMemories("", {}, history.generation_from, as_of=began)
            history = await _prompted(turn, history, prompted)
        prompted = history.memories or PromptMemories("", {}, history.generation_from)
        found = await memory.recall.changes(
            scope,
            state.context,
            known,
            as_of=prompted.as_of,
            turns=turns,
            most=turn.prompt.memory_tokens,
        )
    except StorageError:
        _unavailable(turn)
        return history
    if found.as_of != prompted.as_of:
        history = await _prompted(turn, history, replace(prompted, as_of=found.as_of))
    if found.recalled:
        message = Message("user", [recalled_block(found.recalled, changes=True, more=found.more)])
        _record(turn, changes_event(row.input, found) if found.rows else None, message)
        history = with_message(history, row.id, message)
    state.rows = list({each.id: each for each in (*state.rows, *found.rows)}.values())
    state.known = known_of(history, state.rows, exclude=found.waiting)
    return history


async def retrieve(turn: TurnContext, history: History) -> History:
    """The history with the memories that fit the turn's message, in a message after it: before the first
    model call, and never later, when a call may wait for its result."""
    memory, state, row = turn.memory, turn.memories, turn.row
    if (
        memory is None
        or not row.input.strip()
        or not _may_add(turn)
        or recalled_in_view(history, row.id, changes=False)
    ):
        return history
    recall, scope = memory.recall, scope_of(turn)
    try:
        if await recall.is_empty(scope):
            return history
        count = len(history.messages)
        looked_up = await recall.retrieve(
            scope,
            row.input,
            message_count=count,
            known=state.known,
            turn_id=row.id,
            most=turn.prompt.memory_tokens,
        )
    except StorageError:
        _unavailable(turn)
        return history
    if looked_up is None:
        return history
    new = looked_up.new_memories()
    message = Message("user", [recalled_block(new)]) if new else None
    found, decision = looked_up.found, looked_up.decision
    event = search_event(row.input, found, decision.mode, notes=decision.notes)
    note_found(turn, event)
    _record(turn, event, message)
    state.rows = [*state.rows, *(hit.row for hit in found.hits)]
    return with_message(history, row.id, message) if message is not None else history


def record_citations(turn: TurnContext) -> None:
    """Records, beside the turn, which of the memories in context its answer used."""
    if turn.memory is not None:
        state, answer = turn.memories, turn.progress.text.decode()
        turn.memory.recall.record_citations(state.rows, answer, state.found)


def note_found(turn: TurnContext, event: Retrieval) -> None:
    """Takes down which memories were found for the turn's message, by the gateway or by the model itself."""
    if event.source == SOURCE:
        turn.memories.found |= {hit.id: hit.snippet for hit in event.results}


def scope_of(turn: TurnContext) -> Scope:
    """The scope in which a turn reads memories."""
    row = turn.row
    if row.is_shared and row.project_id is not None:
        return shared_scope(row.project_id)
    households = households_of(turn.settings, row.owner)
    return Scope(row.owner, row.role_id, row.project_id, row.session_id, households)


def digests_of(history: History) -> dict[str, str]:
    """The digests of the memories and profiles in a session's context, as each was rendered last."""
    digests = dict(history.memories.digests) if history.memories is not None else {}
    return digests | {each.id: each.digest for each in recalled_in_view(history)}


def known_of(history: History, rows: Sequence[MemoryRow], *, exclude: Collection[str] = ()) -> InContext:
    """The memories in a session's context, and which of them the model was shown in full. `rows` are their
    current versions: only the digest is kept of what was shown, so that a memory that has changed since does
    not count as shown in full. Memories in `exclude` are left out."""
    prompted = history.memories or PromptMemories("", {}, history.generation_from)
    now = {row.id: digest_of(row) for row in rows}
    # A line has the content; the other fields of a memory are shown when it is retrieved.
    plain = {row.id for row in rows if not (row.context or row.decisions or row.refs)}
    listed = (prompted.digests.keys() - prompted.named) & plain
    full = {each for each in listed if now[each] == prompted.digests[each]}
    recalled = [each for each in recalled_in_view(history) if each.digest != FORGOTTEN]
    current = [each for each in recalled if now.get(each.id, each.digest) == each.digest]
    full |= {each.id for each in current if each.full}
    named = {*prompted.digests, *(each.id for each in recalled)}
    passages = {(each.id, each.passage) for each in current if each.passage is not None}
    return InContext(
        frozenset(full.difference(exclude)),
        frozenset(named.difference(exclude)),
        frozenset(each for each in passages if each[0] not in exclude),
    )


def recalled_in_view(
    history: History, turn_id: str | None = None, *, changes: bool | None = None
) -> list[Recalled]:
    """The memories that stand beside the messages of a history's turns, or of that turn, and are still in its
    view: those of `changes`, retrieved ones, or both."""
    return [
        each
        for item in history.messages
        if turn_id in {None, item.turn_id}
        for block in item.message.content
        if block["type"] == RECALLED and changes in {None, "changes" in block}
        for each in recalled_in(block)
        if not is_forgotten(each, item, history.memories)
    ]


async def _render_in_prompt(turn: TurnContext, history: History, recall: Recall) -> History:
    state = turn.memories
    if not state.outdated and not _has_begun(turn, history):
        return history
    before = history.memories or PromptMemories("", {}, history.generation_from)
    taken = await recall.load_snapshot(scope_of(turn), most=turn.prompt.memory_tokens)
    prompted = PromptMemories(
        taken.text,
        taken.digests,
        history.generation_from,
        named=taken.summarized,
        # Corrected memories are rendered again, by the snapshot or when they are retrieved.
        forgotten={
            **before.forgotten,
            **dict.fromkeys({*state.context.forgotten, *state.context.corrected}, last_position(history)),
        },
        as_of=taken.as_of,
    )
    if taken.rows and prompted.text != before.text:
        _record(turn, snapshot_event(turn.row.input, taken))
    history = await _prompted(turn, history, prompted)
    state.context = replace(state.context, corrected={})
    state.rows = list({row.id: row for row in (*state.rows, *taken.rows)}.values())
    state.known = known_of(history, state.rows)
    return history


async def _prompted(turn: TurnContext, history: History, prompted: PromptMemories) -> History:
    await turn.deps.sessions.set_prompt_memories(turn.row.session_id, prompted)
    return replace(history, memories=prompted)


def _may_add(turn: TurnContext) -> bool:
    state = turn.memories
    return not (state.empty or state.unavailable) and turn.progress.iteration == 0


def _has_begun(turn: TurnContext, history: History) -> bool:
    """Whether a generation has begun since the memories of the prompt were rendered."""
    if history.memories is None:
        return _is_fresh(turn, history)
    return history.memories.generation_from not in {history.generation_from, NOT_READ}


def _is_fresh(turn: TurnContext, history: History) -> bool:
    """Whether the model has read nothing yet in this generation."""
    return all(
        item.position <= history.generation_from or item.turn_id == turn.row.id for item in history.messages
    )


def _unavailable(turn: TurnContext) -> None:
    turn.emit(TurnWarning(code="memory_unavailable", message=UNAVAILABLE))
    turn.memories = MemoryState(turn.memories.rows, unavailable=True)


def _record(turn: TurnContext, event: Retrieval | None, message: Message | None = None) -> None:
    if event is not None and turn.settings.retrieval_events:
        turn.emit(event, message=message)
    elif message is not None:
        turn.emitter.record(message)
