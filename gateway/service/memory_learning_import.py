"""Conversations that are learned from on request, and files of memories that are imported."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from gateway.auth import Principal
from gateway.errors import InvalidRequest, NotFound, QueueFull
from gateway.memory.changes import Attribution, Changed
from gateway.memory.extraction.extractor import Extractor
from gateway.memory.import_file import ImportReport, MemoryImport, lines_of
from gateway.messages import Message
from gateway.service.dependencies import Dependencies
from gateway.service.learning_worker import turn_times
from gateway.service.memory_access import MemoryAccess, ScopeIds, memory_off
from gateway.service.session_events import SessionEvents
from gateway.storage.memories import Evidence
from gateway.storage.messages import StoredMessage
from gateway.turn.influence import brought_along

MAX_CONCURRENT, OF_ONE = 4, 2
"""Conversations that are read, and files that are imported, at the same time: those cost model calls, these
hold up other writers."""

MAX_READ = 1000
"""Messages of a session, the newest, that are read for what is worth remembering."""


class LearningAndImport:
    """One per process, as the places are few. With the memory switched off every operation raises
    errors.NotFound (memory_off)."""

    def __init__(self, deps: Dependencies, extractor: Extractor | None, events: SessionEvents) -> None:
        self._deps = deps
        self._events = events
        self._for = MemoryAccess(deps)
        self._extractor = extractor
        self._busy = Counter[str]()

    async def learn(
        self, who: Principal, scope_ids: ScopeIds, messages: Sequence[Message] | None, *, is_own: bool = False
    ) -> Sequence[Changed]:
        """Has a conversation read for what is worth suggestions: `messages`, or the session that `scope_ids`
        names. Reading the same again adds nothing. What is found in messages waits for the caller to confirm
        it, unless they say that the user's words in them are their own (`is_own`); so does what is found in
        turns of the session that did not run here. Beside messages a session_id that names none of the
        caller's is that of another system, and becomes a tag of what is new.

        Raises:
            errors.NotFound, errors.Forbidden, errors.MemoryFull, errors.QueueFull.
            errors.LearningFailed: the model that should read it gave no usable answer.
        """
        if self._extractor is None:
            raise memory_off()
        label = None
        try:
            scope = await self._for.scope(who, scope_ids)
        except NotFound:
            if messages is None:
                raise
            label, scope_ids = scope_ids.session_id, replace(scope_ids, session_id=None)
            scope = await self._for.scope(who, scope_ids)
        if messages is None and scope_ids.session_id is None:
            raise InvalidRequest("Give a conversation, messages, or the session_id of a session of yours.")
        model = None
        if scope_ids.session_id is not None:
            model = await self._deps.turns.model(scope_ids.session_id)
        if messages is None:
            session_id = str(scope_ids.session_id)
            stored = await self._newest(session_id)
            brought = await brought_along(self._deps.turns, self._deps.settings, session_id)
        else:
            session_id = _conversation_id(messages)
            stored = [StoredMessage(number, session_id, each) for number, each in enumerate(messages, 1)]
            brought = frozenset[str]() if is_own else frozenset({session_id})
        with self._one_of_few(who):
            learned = await self._extractor.learn(
                scope,
                stored,
                session_id=session_id,
                model=model or self._deps.settings.model,
                brought=brought,
                turn_times=turn_times(self._deps, session_id, who.user_id) if messages is None else None,
                label=label,
            )
        if scope_ids.session_id is not None:
            await self._events.add_changes(scope_ids.session_id, who.user_id, learned)
        return learned

    async def import_(self, who: Principal, chunks: AsyncIterable[bytes]) -> ImportReport:
        """Takes what can be used of a file, and reports.

        Raises:
            errors.MemoryFull: the lines before the one in `details` were taken.
            errors.InvalidRequest: a line is too long; errors.QueueFull.
        """

        async def verify(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
            found = [await self._for.held(who, each) for each in evidence]
            return [each for each in found if each is not None]

        by = Attribution(who.user_id, "Imported from a file.")
        importing = MemoryImport(self._for.services.memories, self._for.all_scopes(who), by, verify)
        with self._one_of_few(who):
            return await importing.run(lines_of(chunks))

    async def _newest(self, session_id: str) -> Sequence[StoredMessage]:
        history = await self._deps.sessions.history(session_id)
        last = history.messages[-1].position if history.messages else 0
        after, branch = max(0, last - MAX_READ), history.branch
        return await self._deps.sessions.messages(session_id, after=after, branch=branch)

    @contextmanager
    def _one_of_few(self, who: Principal) -> Generator[None]:
        """Half of the places are one user's at most. Raises errors.QueueFull."""
        what = "conversations or files"
        if self._busy.total() >= MAX_CONCURRENT:
            raise QueueFull(f"{MAX_CONCURRENT} {what} are being read into the memory already.")
        if self._busy[who.user_id] >= OF_ONE:
            raise QueueFull(f"{OF_ONE} {what} of yours are being read into the memory already.")
        self._busy[who.user_id] += 1
        try:
            yield
        finally:
            self._busy[who.user_id] -= 1
            self._busy += Counter()  # forgets whom nothing is left of


def _conversation_id(messages: Sequence[Message]) -> str:
    """The same for the same conversation, so that reading it again adds nothing."""
    text = "\0".join(f"{each.role}\0{block['text']}" for each in messages for block in each.content)
    return f"c_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
