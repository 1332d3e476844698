"""Refusals of what is not there, or not now, in one wording for all tables."""

from gateway.errors import NotFound, TurnInProgress


def no_session(session_id: str) -> NotFound:
    """There is no such session, or it is another owner's."""
    return NotFound(f"There is no session {session_id}.", code="session_not_found")


def no_artifact(ref: str) -> NotFound:
    """There is no such artifact, or it is another owner's."""
    return NotFound(f"There is no artifact {ref}.", code="artifact_not_found")


def is_answering(session_id: str, turn_id: str, head: int) -> TurnInProgress:
    """No other message is taken while a turn runs or waits; the session's last event is `head`."""
    return TurnInProgress(
        f"Session {session_id} is answering turn {turn_id}.", details={"turn_id": turn_id, "seq": head}
    )


def not_over(turn_id: str, session_id: str, head: int, instead: str) -> TurnInProgress:
    """The session, whose last event is `head`, has a turn that is not done; `instead` is what to do."""
    return TurnInProgress(
        f"Turn {turn_id} of session {session_id} is not over: {instead}.",
        details={"turn_id": turn_id, "seq": head},
    )
