"""A session is deleted, whoever wants it: its owner, retention, an erasure."""

from gateway.errors import NotFound
from gateway.ids import now_ms
from gateway.service.dependencies import Dependencies

CLEARED = 100
"""Contents of artifacts and archives that are removed before the deletion returns; the others are removed
later."""


async def remove_session(
    deps: Dependencies,
    session_id: str,
    owner: str,
    *,
    only_if: tuple[int, int | None] | None = None,
    most_cleared: int | None = None,
) -> None:
    """Removes it with the memories that are its alone, and at most `most_cleared` contents (absent: CLEARED).
    Raises what `Sessions.delete` raises."""
    try:
        candidates = await deps.sessions.delete(session_id, owner, only_if=only_if)
    except NotFound:
        await forget_session_memories(deps, session_id, owner)
        raise
    await forget_session_memories(deps, session_id, owner)
    await deps.artifact_store.clear(candidates[: CLEARED if most_cleared is None else most_cleared], now_ms())


async def forget_session_memories(deps: Dependencies, session_id: str, owner: str) -> None:
    """Erases the memories that are a session's alone."""
    if deps.memory is not None:
        await deps.memory.store.forget_session(owner, session_id)
