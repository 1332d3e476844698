"""The request for a turn."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.artifacts.attached_files import Upload
from gateway.messages import UNCHANGED, Sampling, ToolSpec
from gateway.storage.turns import OnConflict


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """A user's message and how to treat it. `session_id` None asks for a new session; `client_message_id`
    makes a repetition of the request return the same turn; `model` None takes the default;
    `project_id` and `role_id` are for a session that is made. `attachments` are references of artifacts, and
    files that come with the message. It comes after the turn `parent_turn_id` (see `NewTurn`). `instructions`
    are the client application's, for this turn and those after it; None: they stay as they were; "": none any
    more. `tools` are run by the client. `mark`: see `NewTurn`. `sampling` is how the client wants the model
    to write."""

    message: str
    session_id: str | None = None
    create_session: bool = False
    client_message_id: str | None = None
    on_conflict: OnConflict = "reject"
    model: str | None = None
    project_id: str | None = None
    role_id: str | None = None
    attachments: Sequence[str | Upload] = ()
    parent_turn_id: str | None = None
    instructions: str | None = None
    tools: Sequence[ToolSpec] = ()
    mark: str | None = None
    sampling: Sampling = UNCHANGED
