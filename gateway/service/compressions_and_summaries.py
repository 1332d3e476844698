"""The operations of a session's history: compress it, list its versions, undo, summarise."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gateway.auth import Principal
from gateway.errors import Conflict, Draining, Forbidden, InvalidRequest, NotFound
from gateway.events.session_changes import Compression
from gateway.history.archive import read_version
from gateway.history.message_view import messages_of
from gateway.history.tokens import overhead_of
from gateway.ids import new_operation_id, new_session_id, now_ms
from gateway.messages import Message
from gateway.model.side_calls import CallContext
from gateway.service.archiver import summarise
from gateway.service.dependencies import Dependencies
from gateway.service.session_access import owner_of
from gateway.service.session_events import SessionEvents
from gateway.storage.archives import CompressionRow, SummaryRow
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.access import Need
from gateway.turn.in_flight import InFlight
from gateway.turn.turn_prompt import Prompt

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Versions:
    """A session's compressed history: the version in force (None: every message is sent) and all there
    are."""

    active: int | None
    rows: Sequence[CompressionRow]

    @property
    def chain(self) -> Sequence[CompressionRow]:
        """The version in force and its ancestors, the oldest first."""
        by_number = {row.version: row for row in self.rows}
        chain: list[CompressionRow] = []
        number = self.active
        while number is not None:
            chain.insert(0, by_number[number])
            number = by_number[number].parent
        return chain


class SessionHistory:
    """Compressions and summaries of sessions. One per process."""

    def __init__(self, deps: Dependencies, in_flight: InFlight) -> None:
        self._deps = deps
        self._events = SessionEvents(deps.log)
        self._draining = in_flight.draining
        self._tasks: set[asyncio.Task[Any]] = set()

    async def messages(
        self, who: Principal, session_id: str, branch: int | None = None
    ) -> AsyncGenerator[Sequence[Message]]:
        """What the model sees of the session now, or would in that branch, a few messages at a time: see
        `messages_of`. Raises errors.NotFound."""
        whole = not self._deps.settings.use_compressions
        owner = await owner_of(self._deps.projects, who, session_id)
        outline = await self._deps.sessions.outline(session_id, owner, whole=whole, branch=branch)
        return messages_of(self._deps.sessions, outline)

    # Compressions

    async def compress(self, who: Principal, session_id: str) -> CompressionRow:
        """Compresses now, also while a turn runs: that turn goes on with what it knows, the next one has the
        new view.

        Raises:
            errors.NotFound, errors.NothingToCompress, errors.CompressionFailed (the old view is kept),
            errors.Draining, and errors.Conflict when another compression of the session runs or was faster.
        """
        await self._session(who, session_id, "own")
        if not self._deps.settings.use_compressions:
            raise Conflict(
                "Compressions are not used (GATEWAY_USE_COMPRESSIONS): every message is sent whatever is "
                "compressed.",
                code="compressions_off",
            )
        deps = self._deps
        open_turn = await deps.turns.open_turn(session_id)
        if open_turn is not None and open_turn.status in {"awaiting_approval", "awaiting_tool_result"}:
            raise Conflict(
                "A call of this session waits for an approval, or a result of the client: give that first.",
                code=open_turn.status,
                details={"turn_id": open_turn.id},
            )
        model = await deps.turns.model(session_id) or deps.settings.model
        operation = new_operation_id()

        async def notify(data: Compression) -> None:
            await self._events.add(session_id, who.user_id, operation, data)

        plain, offered = await self._overheads(session_id)
        work = deps.compressor.compress(
            session_id,
            model=model,
            trigger="manual",
            notify=notify,
            overhead=plain,
            added=offered - plain,
            context=CallContext(who.user_id, session_id, operation=operation),
        )
        return await self._until_shutdown(work, f"compression of {session_id}")

    async def versions(self, who: Principal, session_id: str) -> Versions:
        """Raises errors.NotFound."""
        await self._session(who, session_id)
        active = await self._deps.compressions.in_force(session_id)
        return Versions(active, await self._deps.compressions.list(session_id))

    async def version(self, who: Principal, session_id: str, version: int) -> CompressionRow:
        """Raises errors.NotFound."""
        await self._session(who, session_id)
        return await self._deps.compressions.get(session_id, version)

    async def version_archive(self, who: Principal, session_id: str, version: int) -> AsyncIterator[bytes]:
        """The zipped JSON lines of what a version archived, after they were found to be what was written.
        Raises errors.NotFound, errors.ArchiveDamaged."""
        row = await self.version(who, session_id, version)
        async for _ in read_version(self._deps.blobs, row):
            pass
        return self._deps.blobs.stream(row.archive_path)

    async def activate(self, who: Principal, session_id: str, version: int) -> Versions:
        """Puts another version in force; 0: none, every message is sent again. Raises errors.NotFound."""
        await self._session(who, session_id, "own")
        await self._deps.compressions.activate(session_id, version or None)
        return await self.versions(who, session_id)

    # Summaries

    async def carried(self, who: Principal, session_id: str) -> str | None:
        """The summaries of former sessions in its prompt, as the model reads them. Raises errors.NotFound."""
        await self._session(who, session_id)
        return await self._deps.sessions.carried(session_id)

    async def instructions(self, who: Principal, session_id: str) -> str | None:
        """Those of its client application, cleaned; None for others than its owner. Raises
        errors.NotFound."""
        if (await self._session(who, session_id)).owner != who.user_id:
            return None
        return await self._deps.sessions.instructions(session_id)

    async def summarise(self, who: Principal, session_id: str) -> SummaryRow:
        """Makes the session's summary anew. Raises errors.NotFound, errors.NothingToCompress (it has no
        messages), errors.CompressionFailed, errors.Draining, errors.InvalidRequest (summaries are switched
        off)."""
        session = await self._session(who, session_id, "own")
        self._check_summaries()
        work = summarise(self._deps, session, "manual")
        return await self._until_shutdown(work, f"summary of {session_id}")

    async def summarise_messages(
        self,
        who: Principal,
        messages: Sequence[Message],
        *,
        session_id: str | None = None,
        project_id: str | None = None,
        role_id: str | None = None,
    ) -> SummaryRow:
        """Makes a summary of a conversation that the caller brings along. It becomes that of their session of
        this id, which is made if there is none, or of a new one.

        Raises:
            errors.Conflict: the session is another user's, or in another project or role.
            errors.CompressionFailed, errors.Draining, errors.InvalidRequest (summaries are switched off).
        """
        self._check_summaries()
        work = self._summarise_messages(who.user_id, messages, session_id, project_id, role_id)
        return await self._until_shutdown(work, "summary of a conversation")

    async def summary(self, who: Principal, session_id: str) -> SummaryRow:
        """Raises errors.NotFound."""
        owner = await owner_of(self._deps.projects, who, session_id)
        return await self._deps.summaries.get(session_id, owner)

    async def summaries(
        self,
        who: Principal,
        *,
        user_id: str | None,
        project_id: str | None,
        role_id: str | None,
        limit: int,
    ) -> Sequence[SummaryRow]:
        """The newest summaries of the caller, newest first. Raises errors.Forbidden for another user's."""
        if user_id is not None and user_id != who.user_id:
            raise Forbidden("These are another user's summaries.")
        return await self._deps.summaries.list(
            who.user_id, project_id=project_id, role_id=role_id, limit=limit
        )

    async def close(self) -> None:
        """Shutdown: what is still being compressed or summarised is given up; the old views stay."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _summarise_messages(
        self,
        owner: str,
        messages: Sequence[Message],
        session_id: str | None,
        project_id: str | None,
        role_id: str | None,
    ) -> SummaryRow:
        deps, last, now = self._deps, 0, now_ms()
        if session_id is None:
            session_id = new_session_id()
        else:
            session_id = await deps.session_ids.new(owner, session_id)
        session = SessionRow(session_id, owner, None, now, now, 0, project_id, role_id)
        try:
            known = await deps.sessions.outline(session_id, owner)
        except NotFound:
            known = None
        if known is not None:
            session, last = known.session, known.last
            for what, given, own in (
                ("project", project_id, session.project_id),
                ("role", role_id, session.role_id),
            ):
                if given not in {None, own}:
                    raise Conflict(f"Session {session_id} is in another {what}: leave {what}_id out.")
        model = deps.settings.model
        row = await deps.summariser.summarise_messages(session, messages, model=model, last=last)
        if known is None:
            await deps.sessions.create(
                session_id,
                owner,
                None,
                now,
                project_id=project_id,
                role_id=role_id,
                quota=deps.settings.session_quota,
            )
        await deps.summaries.save(row)
        return row

    def _check_summaries(self) -> None:
        if not self._deps.settings.session_summaries:
            raise InvalidRequest("Summaries of sessions are switched off (GATEWAY_SESSION_SUMMARIES).")

    async def _until_shutdown(self, work: Coroutine[Any, Any, T], name: str) -> T:
        """What `work` returns or raises. It is not stopped by a client that leaves, but by the shutdown.
        Raises errors.Draining then, and when that has begun already."""
        draining = Draining("The server is shutting down. Ask again in a moment.")
        if self._draining.is_set():
            work.close()
            raise draining
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and self._draining.is_set():
                raise draining from None
            raise

    async def _overheads(self, session_id: str) -> tuple[int, int]:
        """The estimates of system prompt and tools, as they are and with what comes with a compression."""
        history, prompt = await self._deps.sessions.history(session_id), Prompt.read(self._deps)
        now, then = prompt.prefix(history), prompt.prefix(history, compressed=True)
        return overhead_of(now.system, now.tools), overhead_of(then.system, then.tools)

    async def _session(self, who: Principal, session_id: str, need: Need = "read") -> SessionRow:
        owner = await owner_of(self._deps.projects, who, session_id, need)
        return await self._deps.sessions.get(session_id, owner)
