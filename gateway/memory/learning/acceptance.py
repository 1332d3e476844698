"""Which excerpts are worth a model call, and which candidates of its answer are accepted. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from gateway.lexical import plain_form
from gateway.memory.assents import is_assent
from gateway.memory.learning.candidates import Candidate
from gateway.memory.learning.grounding import TRUSTS, GroundedCandidate, ground
from gateway.memory.learning.proposals import is_answered_by
from gateway.memory.learning.rejection import rejection_reason, transient_kind, unsafe
from gateway.memory.learning.retractions import Retraction
from gateway.memory.learning.user_messages import Excerpt, excerpts
from gateway.memory.learning.wording import brings_in
from gateway.memory.sentences import clauses
from gateway.storage.messages import StoredMessage


def excerpts_to_read(messages: Sequence[StoredMessage], after: int, max_tokens: int) -> list[Excerpt]:
    """The excerpts in which the user states a possibly durable fact, or agrees to a proposal: for the others
    no model is asked."""
    return [
        excerpt
        for excerpt in excerpts(messages, after=after, max_tokens=max_tokens)
        if any(
            is_answered_by(text, "\n".join(excerpt.answers_before(position).values()))
            or any(transient_kind(clause) is None for clause in clauses(text))
            for position, text in excerpt.user_texts.items()
        )
    ]


def accept(
    candidates: Sequence[Candidate],
    excerpt: Excerpt,
    retracted: Sequence[Retraction],
    dropped: Counter[str],
    *,
    known: Collection[str] = (),
    trusts: Callable[[str], bool] = TRUSTS,
) -> list[GroundedCandidate]:
    """The candidates that are grounded and not rejected; `dropped` counts the reasons for the others. Of what
    they are `based_on` only ids that are `known` are left; of the context, decisions and references what is
    safe and has no number and no name that the conversation lacks. `trusts` says which tools the operator
    trusts, by name."""
    answers = {position: plain_form(text) for position, text in excerpt.answers.items()}
    said = "\n".join((*excerpt.user_texts.values(), *excerpt.answers.values()))
    accepted: list[GroundedCandidate] = []
    for candidate in candidates:
        grounded = ground(candidate, excerpt, trusts)
        if grounded is None:
            dropped["assent" if is_assent(candidate.quote) else "not_said"] += 1
            continue
        before = (text for position, text in answers.items() if position < grounded.position)
        reason = rejection_reason(grounded, before)
        if reason is None and any(each.covers(grounded) for each in retracted):
            reason = "forget"
        if reason is None:
            accepted.append(_with_checked_details(grounded, said, known))
        else:
            dropped[reason] += 1
    return sorted(accepted, key=lambda each: each.position)


def _with_checked_details(found: GroundedCandidate, said: str, known: Collection[str]) -> GroundedCandidate:
    proposed = found.candidate

    def held(lines: Sequence[str]) -> list[str]:
        return [each for each in lines if unsafe(each) is None and not brings_in(each, said)]

    details = {
        "context": next(iter(held([proposed.context] if proposed.context else [])), None),
        "decisions": held(proposed.decisions),
        "refs": held(proposed.refs),
        "based_on": [each for each in proposed.based_on if each in known],
    }
    return replace(found, candidate=proposed.model_copy(update=details))
