"""Refusals that more than one table gives, in one wording."""

from gateway.errors import NotFound, TurnInProgress


def no_session(session_id: str) -> NotFound:
    """There is no such session, or it is another owner's."""
    return NotFound(f"There is no session {session_id}.", code="session_not_found")


def not_over(turn_id: str, session_id: str, head: int, instead: str) -> TurnInProgress:
    """The session, whose last event is `head`, has a turn that is not done; `instead` says what to do."""
    return TurnInProgress(
        f"Turn {turn_id} of session {session_id} is not over: {instead}.",
        details={"turn_id": turn_id, "seq": head},
    )
