"""Files of a conversation in requests to the model: contents are read for each request and stored in no
history."""

from dataclasses import replace

from gateway.errors import ModelError
from gateway.events.lifecycle import IterationSuperseded, TurnWarning
from gateway.history.transcript import view, without_turn
from gateway.model.base import ModelRequest
from gateway.model.endpoint_facts import ModelFacts
from gateway.storage.messages import History
from gateway.tools.policy import FILE_READ
from gateway.turn.context import TurnContext
from gateway.turn.prompt_generation import Reason

WITHHELD = (
    "The model's endpoint refused a request that shows files (one may be broken, or the model may not take "
    "such): it is asked without them, and told so."
)
TOO_LONG = (
    "The files of this conversation are longer than the model can read: it is asked again without them, and "
    "told so."
)
LEFT_OUT = Reason(
    "attachment_not_shown",
    "Older files of this conversation make room for newer ones and are not shown to the model any more.",
)


async def fit_attachments(turn: TurnContext, history: History) -> tuple[History, Reason | None]:
    """The history; and, when the files of the turn's message displace older ones, why a prompt
    generation must begin: what comes before the message changes. At a turn's first model call only; later
    ones add no files."""
    if not turn.row.attachments or turn.progress.iteration > 0:
        return history, None
    left_out = turn.deps.attachments.left_out
    before = left_out(view(without_turn(history, turn.row.id)))
    return history, LEFT_OUT if left_out(view(history)) > before else None


async def with_files(turn: TurnContext, request: ModelRequest) -> ModelRequest:
    """The request with the contents of images and documents; the same object when it has none. A text stands
    in the place of content that cannot be shown; one warning per turn names it."""
    if FILE_READ not in turn.progress.tools_read:
        return request  # no message of the session has a file
    filled = await turn.deps.attachments.fill(
        turn.row.session_owner,
        request.messages,
        model=request.model,
        withheld=turn.withheld,
        unseen=unseen_by(turn.deps.model.facts.of(request.model)),
    )
    turn.shows_all = filled.is_whole
    for problem in filled.problems:
        if problem not in turn.not_shown:
            turn.not_shown.add(problem)
            turn.emit(TurnWarning(code="attachment_not_shown", message=problem))
    if filled.messages is request.messages:
        return request
    return replace(request, messages=tuple(filled.messages))


def unseen_by(facts: ModelFacts) -> list[str]:
    """The types of blocks that a model does not look at, as its endpoint says."""
    known = {"image": facts.images, "document": facts.pdfs}
    return [kind for kind, seen in known.items() if seen is False]


def withhold_files(turn: TurnContext, error: ModelError) -> bool:
    """After a request that showed files was refused, or was too long: whether it is to be sent again without
    them. A file that an endpoint does not take would otherwise end this and every later turn."""
    too_long = error.code == "context_overflow"
    if not too_long and (not error.refused or error.retryable):
        return False
    suspects = turn.deps.attachments.suspects(turn.messages, turn.withheld)
    if not suspects:
        return False
    turn.withheld |= suspects
    if turn.progress.attempt_open:
        turn.emit(IterationSuperseded(attempt=turn.progress.attempt, reason=error.code))
    turn.emit(TurnWarning(code="attachment_not_shown", message=TOO_LONG if too_long else WITHHELD))
    return True


def remember_withheld(turn: TurnContext) -> None:
    """Called when the endpoint answered without the withheld files: they were why it refused before."""
    if turn.withheld:
        turn.deps.attachments.mark_rejected(turn.row.session_owner, turn.row.model, turn.withheld)
