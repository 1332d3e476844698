"""Grounding of candidates: each is tied to the user's own words, or dropped. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from gateway.lexical import tokens
from gateway.memory.assents import assents_to_all, is_assent
from gateway.memory.extraction.assistant_proposals import is_picked, is_proposed, proposal_in, repeats_others
from gateway.memory.extraction.candidates import MAX_CONTENT, MAX_QUOTE, Candidate
from gateway.memory.extraction.faithfulness import content_words, faithfulness_of, is_contentless, leaves_out
from gateway.memory.extraction.quote_location import locate
from gateway.memory.extraction.user_messages import Excerpt
from gateway.memory.known_languages import is_known
from gateway.memory.sentences import clause_of, sentence_of, sentences
from gateway.memory.validation import clean
from gateway.tools.policy import is_trusted

TRUSTS = partial(is_trusted, ())
MIN_OWN_WORDS = 3
"""Content words of a quote that has a meaning without the sentences around it."""
_EARLIER = "The user did not agree to it just after it was proposed."
_IN_PART = "It is not certain that the user agreed to all of that."
_REPEATED = "The assistant repeated it from elsewhere, and may not have proposed it."
_OUTSIDE = "The assistant had just read what others wrote, and may have repeated it."
_STATED = "The assistant said it, and did not ask the user to agree to it."
_ANOTHER = "It is not certain that the user took this one of what was proposed."
_BROUGHT = "It was said in a conversation from elsewhere, perhaps by somebody else."
_LANGUAGE = "It is in a language whose meaning is not checked: only English and Chinese are."
_REWORDED = "It is told in other words than it was said in."
_LEFT_OUT = "It leaves out a negation, or whom or when it was said of."


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the user agreed to: verbatim text of the assistant's message at `position`."""

    position: int
    quote: str


@dataclass(frozen=True, slots=True)
class GroundedCandidate:
    """A candidate with its evidence: `quote` is verbatim text of the user's message at `position`, from
    character `start` on, within `clause`, and that within `sentence`. An assent has the `proposal` that it
    agrees to. `doubt` is the reason why a person has to confirm it first, `note` a remark for the reader.
    `is_brought`: it was not said here."""

    candidate: Candidate
    position: int
    start: int
    quote: str
    clause: str
    sentence: str
    proposal: Proposal | None = None
    doubt: str | None = None
    note: str | None = None
    is_brought: bool = False

    @property
    def content(self) -> str:
        return self.candidate.content

    def brought_along(self) -> "GroundedCandidate":
        """The same in doubt, as it was not said here."""
        return replace(self, doubt=_BROUGHT, is_brought=True)

    def with_content(self, content: str, **fields: str | None) -> "GroundedCandidate":
        """The same with another content."""
        candidate = self.candidate.model_copy(update={"content": content[:MAX_CONTENT]})
        return replace(self, candidate=candidate, **fields)


def ground(
    candidate: Candidate, excerpt: Excerpt, trusts: Callable[[str], bool] = TRUSTS
) -> GroundedCandidate | None:
    """The candidate with its quote located in the user's messages, and what they agree to with it; None when
    the quote is not found, or is an assent to nothing.

    The message that the candidate names is searched first, then the user's others. If the content is not in
    the user's words (`faithfulness`), a person has to confirm it, unless it has the same meaning; content in
    another language or script is replaced by the user's words. What is said in a language that is not known
    here (`known_languages`) a person has to confirm. An assent also has to be
    confirmed where what it agrees to may be somebody else's: the model had read the output of a tool that
    the operator does not trust (`trusts`, by name), or the assistant only reported what others said.
    """
    texts = excerpt.user_texts
    for position in dict.fromkeys([candidate.message, *texts]):
        text = texts.get(position, "")
        if (span := locate(candidate.quote, text)) is not None:
            quote = text[slice(*span)]
            found = GroundedCandidate(
                candidate.model_copy(update={"content": clean(candidate.content) or quote[:MAX_CONTENT]}),
                position,
                span[0],
                quote,
                clause_of(text, *span),
                sentence_of(text, *span),
            )
            worded = _checked_wording(found, excerpt, trusts)
            return None if worded is None else _checked_language(_checked_context(worded, excerpt))
    return None


def _checked_language(found: GroundedCandidate) -> GroundedCandidate:
    """In doubt where a negation in it, in the user's words or in their assent may not have been seen."""
    is_read = is_known(found.sentence) and is_known(found.content)
    return found if is_read else replace(found, doubt=found.doubt or _LANGUAGE)


def _checked_context(found: GroundedCandidate, excerpt: Excerpt) -> GroundedCandidate:
    """In doubt where it leaves out what changes the meaning of the words that it is drawn from."""
    text, start, own = excerpt.user_texts[found.position], found.start, found.quote
    if found.proposal is not None:
        text, own = excerpt.answers[found.proposal.position], found.proposal.quote
        start = max(0, text.find(own))
    is_part = leaves_out(found.content, own, text[:start])
    return replace(found, doubt=found.doubt or _LEFT_OUT) if is_part else found


def _checked_wording(
    found: GroundedCandidate, excerpt: Excerpt, trusts: Callable[[str], bool]
) -> GroundedCandidate | None:
    user_text = "\n".join(excerpt.user_texts.values())
    own = found.quote
    if is_assent(own) or is_contentless(own) or found.candidate.proposal is not None:
        with_proposal = _with_proposal(found, excerpt, trusts)
        if with_proposal is None and is_assent(own):
            return None
        found = with_proposal or found
    if found.proposal is not None:
        own, user_text = found.proposal.quote, f"{user_text}\n{excerpt.answers[found.proposal.position]}"
        if is_assent(found.content) or is_contentless(found.content):
            return found.with_content(own)
    elif is_assent(found.content):
        return found.with_content(own)
    match faithfulness_of(found.content, own, user_text):
        case "agrees":
            return found
        case "translated" if len(content_words(own)) >= MIN_OWN_WORDS:
            return found.with_content(own, note="It is kept in the words in which it was said.")
        case other:
            return replace(found, doubt=found.doubt or (_LANGUAGE if other == "unknown" else _REWORDED))


def _with_proposal(
    found: GroundedCandidate, excerpt: Excerpt, trusts: Callable[[str], bool]
) -> GroundedCandidate | None:
    """With what the user agrees to. What the model cites as that is looked for in the assistant's words
    before it; where it cites nothing, the sentence that is closest to the content, or else the one that
    proposes something, is taken. None: there is no such thing."""
    for position, text in reversed(excerpt.answers.items()):
        cited = locate(found.candidate.proposal or "", text) if position < found.position else None
        if cited is not None:
            return _agreeing(found, excerpt, trusts, position, cited)
    for position, text in reversed(excerpt.answers_before(found.position).items()):
        if (named := _closest(found.content, text) or proposal_in(text)) is not None:
            start = text.index(named)
            return _agreeing(found, excerpt, trusts, position, (start, start + len(named[:MAX_QUOTE])))
    return None


def _agreeing(
    found: GroundedCandidate,
    excerpt: Excerpt,
    trusts: Callable[[str], bool],
    position: int,
    span: tuple[int, int],
) -> GroundedCandidate:
    """With the `span` of the assistant's message at `position`, in doubt where it may not be agreed to."""
    message, text = excerpt.user_texts[found.position], excerpt.answers[position]
    doubt = None
    if not assents_to_all(found.quote, message):
        doubt = _IN_PART
    elif position not in excerpt.answers_before(found.position):
        doubt = _EARLIER
    elif repeats_others(text, *span):
        doubt = _REPEATED
    elif not all(map(trusts, excerpt.tools[found.position])):
        doubt = _OUTSIDE
    elif not is_proposed(text, *span, content_words(found.content)):
        doubt = _STATED
    elif not is_picked(message, text, *span):
        doubt = _ANOTHER
    return replace(found, proposal=Proposal(position, text[slice(*span)]), doubt=doubt)


def _closest(content: str, text: str) -> str | None:
    """The sentence that has most words of the content, if it has many."""
    if is_assent(content) or is_contentless(content):
        return None
    words = content_words(content)
    best = max(sentences(text), key=lambda each: len(words & set(tokens(each))), default="")
    return best if 2 * len(words & set(tokens(best))) >= len(words) else None
