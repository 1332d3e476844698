"""The place of a client that sends the whole conversation each time: the session, and the turn to go on
after. The log has the conversation; what the client sends only finds its place.

Each turn is kept with a mark, a hash of all that its client had sent until then. The mark of what was asked
before leads to a turn, whose answer in the log has to be the one that the client has:

    u1  a1  u2  a2  u3        mark(u1)   mark(u1 a1 u2)   mark(u1 a1 u2 a2 u3)
                                              └── a turn has this one, and its answer is a2: u3 comes after it
"""

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import orjson

from gateway.adapters.answer_remarks import comparable
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import AttemptWithdrawn, Grew
from gateway.auth import Principal
from gateway.errors import Conflict, NotFound
from gateway.events.envelope import StoredEvent
from gateway.ids import now_ms
from gateway.prompt.text_cleaning import clean
from gateway.service.follower import PAGE, following_from
from gateway.service.gateway import Gateway
from gateway.storage.branches import ROOT
from gateway.storage.turns import MAX_INSTRUCTIONS, TurnRow, instructions_digest

RETRIED_WITHIN = 120_000
"""Milliseconds: who asks the same again in that time, and says that it is a repetition, means the same turn.
SDKs repeat a request within 8 seconds, or what a Retry-After says."""
OF_TEXT = frozenset({"text", "iteration_start", "iteration_superseded", "done"})
"""Events that say what a turn's answer is, and its last one, after which nothing need be looked for."""


class AnsweredQuestion(NamedTuple):
    """What was asked, as a digest, and what was answered, without white space and remarks."""

    question: str
    answer: str


class Naming(NamedTuple):
    """How a request names its session. Who names a session may send the new message alone. Who names a chat
    sends all of it each time: a lone message in one that has turns is beside it, such as the request for a
    title. `is_beside`: it says itself that it is beside any."""

    session_id: str | None = None
    is_chat: bool = False
    is_beside: bool = False


class NextTurnPlace(NamedTuple):
    """Where a turn comes, or (`same`) has come before. Without `is_known` no session has the conversation so
    far."""

    mark: str
    session_id: str | None = None
    parent: str | None = None
    same: TurnRow | None = None
    is_known: bool = True
    is_beside: bool = False


class SessionLookup:
    """Those of one request."""

    def __init__(
        self,
        gateway: Gateway,
        who: Principal,
        named: Naming,
        model: str,
        instructions: str,
        *,
        is_retry: bool,
    ) -> None:
        """`model` is asked. A frontend may ask several the same at once, under one name, and a program with
        other `instructions` each time."""
        self._gateway = gateway
        self._who = who
        self._model = model
        cleaned = clean(instructions[:MAX_INSTRUCTIONS]) if is_retry else ""  # of more no turn begins
        self._instructions = instructions_digest(cleaned)
        self._named = named
        self._is_retry = is_retry
        self._found: dict[str, Sequence[TurnRow]] = {}

    async def find(self, marks: Sequence[str], answer: str) -> NextTurnPlace:
        """Where the last of the questions with these marks comes, before which that was answered."""
        is_first = len(marks) == 1
        if self._named.is_beside:
            same = await self._same(marks[-1], None, attach=False)
            return NextTurnPlace(marks[-1], same=same, is_known=is_first, is_beside=True)
        if is_first:
            return await self._alone(marks[-1])
        await asyncio.gather(*map(self._marked, marks[-2:]))
        parent = await self._last(marks[-2], answer)
        if parent is None:
            return await self._beside(marks[-1])
        same = await self._same(marks[-1], parent.session_id, attach=True)
        return NextTurnPlace(marks[-1], parent.session_id, parent.id, same)

    async def after(self, turn: TurnRow, question: str) -> NextTurnPlace:
        """Where the question comes that names the turn before it."""
        mark = marks_of(self._who, [AnsweredQuestion(turn.id, "")], question)[-1]
        return NextTurnPlace(
            mark, turn.session_id, turn.id, await self._same(mark, turn.session_id, attach=True)
        )

    async def _beside(self, mark: str) -> NextTurnPlace:
        """The place of the same request of before, after a conversation from elsewhere."""
        for turn in await self._marked(mark):
            with suppress(Conflict):  # nothing can come there any more
                parent = await self._gateway.turns.asked_after(self._who, turn.session_id, turn.id)
                same = await self._same(mark, turn.session_id, attach=True)
                return NextTurnPlace(mark, turn.session_id, parent, same)
        return NextTurnPlace(mark, self._named.session_id, is_known=False)

    async def _alone(self, mark: str) -> NextTurnPlace:
        session_id, is_chat, _ = self._named
        if session_id is None:
            return NextTurnPlace(mark, same=await self._same(mark, None, attach=False))
        same = await self._same(mark, session_id, attach=is_chat)
        if not is_chat or same is not None or not await self._has_turns(session_id):
            return NextTurnPlace(mark, session_id, same=same)
        asked = [turn for turn in await self._marked(mark) if turn.session_id == session_id]
        if asked:
            return NextTurnPlace(mark, session_id, ROOT)
        return NextTurnPlace(mark, is_beside=True)

    async def _has_turns(self, session_id: str) -> bool:
        try:
            return (await self._gateway.sessions.get(self._who, session_id)).head > 0
        except NotFound:
            return False

    async def _same(self, mark: str, session_id: str | None, *, attach: bool) -> TurnRow | None:
        """The turn that this very request has begun before: one that runs, where the place is certain
        (`attach`) or the client repeats itself, and one that is done where it does. A turn that failed is
        none: it is asked anew."""
        for turn in await self._marked(mark):
            if turn.model != self._model or session_id not in {None, turn.session_id}:
                continue
            is_recent = self._is_retry and now_ms() - turn.created_at < RETRIED_WITHIN
            is_recent = is_recent and self._instructions in {"", turn.instructions}
            if turn.status == "done":
                if is_recent and turn.outcome == "completed":
                    return turn
            elif not turn.cancel_requested and (attach or is_recent):
                return turn
        return None

    async def _last(self, mark: str, answer: str) -> TurnRow | None:
        """The turn whose answer the client has seen last: one of the session that is named; else of those
        whose answer is most like it one after which nothing has come, or the newest."""
        marked = await self._marked(mark)
        much_of = await asyncio.gather(*(self._certainty(turn, answer) for turn in marked))
        alike = [*zip(much_of, marked, strict=True)]
        named = self._named.session_id
        here = [(much, turn) for much, turn in alike if turn.session_id == named and much]
        if here:
            return max(here, key=itemgetter(0))[1]
        newest = await self._newest(named) if named is not None and answer else None
        if newest is not None and await self._certainty(newest, answer):
            return newest
        most = max((much for much, _ in alike), default=0)
        found = [turn for much, turn in alike if much == most > 0]
        if len(found) > 1:
            for turn in found:
                newest = await self._newest(turn.session_id)
                if newest is not None and newest.id == turn.id:
                    return turn
        return next(iter(found), None)

    async def _marked(self, mark: str) -> Sequence[TurnRow]:
        if mark not in self._found:
            self._found[mark] = await self._gateway.turns.marked(self._who, mark)
        return self._found[mark]

    async def _newest(self, session_id: str) -> TurnRow | None:
        """The last turn of the active branch."""
        try:
            branches = await self._gateway.sessions.branches(self._who, session_id)
        except NotFound:
            return None
        last = next((row.last_turn_id for row in branches.rows if row.branch == branches.active), None)
        return await self._gateway.turns.get(self._who, session_id, last) if last is not None else None

    async def _certainty(self, turn: TurnRow, answer: str) -> int:
        """How sure it is that this is what a client was shown of the turn's answer: 3 of all of it, 2 of its
        beginning, as the client may have left, 1 of more than there is, where the turn came to no good end;
        0 of another one."""
        texts = await self._texts(turn)
        if answer in texts:
            return 3
        if any(text.startswith(answer) for text in texts):
            return 2
        return turn.outcome not in {None, "completed"} and any(map(answer.startswith, filter(None, texts)))

    async def _texts(self, turn: TurnRow) -> Sequence[str]:
        """The answer without and with the attempts that were discarded, and without and with what looks like
        a remark in the model's own words; no white space."""
        fold, shown, streamed = Fold(), dict[str, list[str]](), list[str]()
        place = following_from(turn.session_id, turn.last_seq, 0, turn, types=OF_TEXT, live=False)
        after: int | None = place.after
        while after is not None:
            events, after = await self._gateway.streams.page(replace(place, after=after), PAGE)
            _read(fold, events, shown, streamed)
        texts = "".join(chain.from_iterable(shown.values())), "".join(streamed)
        return [*map(comparable, texts), *("".join(text.split()) for text in texts)]


def _read(
    fold: Fold, events: Sequence[StoredEvent], shown: dict[str, list[str]], streamed: list[str]
) -> None:
    for part in fold.take(events):
        match part:
            case Grew(span, text):
                delta = orjson.loads(text)
                shown.setdefault(span.id, []).append(delta)
                streamed.append(delta)
            case AttemptWithdrawn(_, spans):
                for span in spans:
                    shown.pop(span.id, None)
            case _:
                pass


def marks_of(who: Principal, before: Sequence[AnsweredQuestion], question: str) -> Sequence[str]:
    """The marks of all questions, in their order."""
    found: list[str] = []
    former, answer = who.user_id, ""
    for exchange in (*before, AnsweredQuestion(question, "")):
        former = hashlib.sha256("\0".join((former, answer, exchange.question)).encode()).hexdigest()
        found.append(former)
        answer = exchange.answer
    return found
