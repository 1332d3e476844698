"""The operations on artifacts. They check whose they are, and whose the sessions are that they belong to."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from gateway.artifacts.artifact_store import Origin
from gateway.artifacts.artifact_summary import ArtifactSummariser
from gateway.artifacts.content import ArtifactContent, file_content
from gateway.artifacts.reading import ContentPart, Selector, read_part
from gateway.auth import Principal
from gateway.errors import Forbidden, InvalidRequest, NotFound
from gateway.ids import now_ms
from gateway.lexical import Sought, has, indexed, sought
from gateway.messages import FileReading
from gateway.service.dependencies import Dependencies
from gateway.service.session_access import owner_of
from gateway.service.upload_buffer import UploadBuffer
from gateway.storage.artifacts import ArtifactRow, Kind, SpaceUsed
from gateway.storage.artifacts.store import Artifacts

MAX_UPLOADS = 8
"""Contents of the largest size that are received at the same time: each is a file until it is kept."""
MAX_PER_USER = 2
"""Contents of one user that are received at the same time."""


PAGE = 200
"""Artifacts whose names and summaries are looked through at a time."""
MAX_READ = 2000
"""Artifacts that one request looks through: some 100 ms."""
MAX_SHOWN = 1000
"""Characters of a compact form in which words are looked for."""


class FoundArtifacts(NamedTuple):
    """Artifacts, the newest first, the session that used each last, by its ref, and what all of their owner's
    take of the `quota`, in bytes. `next` is before which pair to go on; None: there are no more."""

    rows: Sequence[ArtifactRow]
    used_in: Mapping[str, str]
    space_used: SpaceUsed
    quota: int
    next: tuple[int, str] | None


class UploadPlace(NamedTuple):
    """Where an uploaded content belongs, as far as the sender names it. `user_id` can only be the sender's
    own; `expires_at` is in Unix milliseconds."""

    session_id: str | None = None
    user_id: str | None = None
    project_id: str | None = None
    tool_call_id: str | None = None
    expires_at: int | None = None


class Compacted(NamedTuple):
    """An artifact, and its summary in a model's words if there is one."""

    row: ArtifactRow
    summary: str | None


class UserArtifacts:
    """One per process. `summariser` is asked for a summary when a compact form is requested."""

    def __init__(self, deps: Dependencies, store: Artifacts, summariser: ArtifactSummariser) -> None:
        self._deps = deps
        self._store = store
        self._summariser = summariser
        self._files = UploadBuffer(
            deps.settings.scratch_dir,
            largest=MAX_UPLOADS,
            max_bytes=deps.settings.artifact_max_size,
            limit="artifact_max_size",
            what="uploads",
            of_one=MAX_PER_USER,
        )

    async def keep(
        self,
        who: Principal,
        content: ArtifactContent,
        place: UploadPlace,
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> ArtifactRow:
        """Raises what `_origin` and `ArtifactStore.put` raise."""
        origin = await self._origin(who, place)
        return await self._deps.artifact_store.put(
            content, origin, metadata=metadata, expires_at=place.expires_at
        )

    async def upload(
        self,
        who: Principal,
        chunks: AsyncIterable[bytes],
        place: UploadPlace,
        *,
        name: str | None = None,
        mime: str | None = None,
    ) -> ArtifactRow:
        """Keeps what comes in, in bounded memory.

        Raises:
            errors.InvalidRequest: nothing came.
            errors.QueueFull: too many uploads run, of the caller or in all.
            What `_origin`, `ArtifactStore.put` and the chunks raise.
        """
        origin = await self._origin(who, place)
        async with self._files.received(chunks, who.user_id) as file:
            if not file.tell():
                raise InvalidRequest("The body is empty: send the content in it.")
            return await self._deps.artifact_store.put(
                file_content(file, name, mime), origin, expires_at=place.expires_at
            )

    async def find(
        self,
        who: Principal,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
        kind: Kind | None = None,
        words: str | None = None,
    ) -> FoundArtifacts:
        """All of the caller's, those that a session uses, that a turn made, of a kind, or with all of `words`
        in name or summary: of these fewer than `limit` where MAX_READ others stand between. Raises
        errors.NotFound (session_not_found)."""
        owner = who.user_id
        if session_id is not None:
            owner = await owner_of(self._deps.projects, who, session_id)
        units = await asyncio.to_thread(sought, words) if words is not None else None
        found, read, is_over = list[ArtifactRow](), 0, False
        while not is_over and len(found) < limit and read < MAX_READ:
            most = limit if units is None else PAGE
            rows = await self._store.find(
                owner, limit=most, before=before, session_id=session_id, turn_id=turn_id, kind=kind
            )
            read, is_over = read + len(rows), len(rows) < most
            having = rows if units is None else await asyncio.to_thread(_having, rows, units)
            taken = having[: limit - len(found)]
            found += taken
            is_over = is_over and len(taken) == len(having)
            if last := (taken if len(found) == limit else rows)[-1:]:
                before = last[0].created_at, last[0].ref
        used = await self._store.space_used(who.user_id)
        used_in = await self._store.used_in(owner, [row.ref for row in found])
        quota, following = self._deps.settings.artifact_quota, None if is_over else before
        return FoundArtifacts(found, used_in, used, quota, following)

    async def get(self, who: Principal, ref: str) -> ArtifactRow:
        """The caller's, or of a session that they may read. Raises errors.NotFound (artifact_not_found)."""
        try:
            return await self._deps.artifact_store.get(who.user_id, ref)
        except NotFound:
            if (owner := await self._deps.projects.artifact_owner(ref, who.user_id)) is None:
                raise
        return await self._deps.artifact_store.get(owner, ref)

    async def content(self, row: ArtifactRow, start: int, end: int) -> AsyncGenerator[bytes]:
        """The bytes from `start` up to, and without, `end`, of an artifact whose owner was checked before.
        The first of them are read before this returns.

        Raises:
            errors.ArtifactDamaged: the content is missing, or not what was written; so does iterating.
        """
        chunks = self._deps.artifact_store.stream(row, start, end)
        first = await anext(chunks, b"")
        return _joined(first, chunks)

    async def part(self, who: Principal, ref: str, selector: Selector, *, most_tokens: int) -> ContentPart:
        """Raises errors.NotFound (artifact_not_found), and what `read_part` raises."""
        row = await self.get(who, ref)
        return await read_part(self._deps.artifact_store, row, selector, most_tokens=most_tokens, by="user")

    async def compact(self, who: Principal, ref: str) -> Compacted:
        """With its summary, which a model may be asked for where it is the caller's own. Raises
        errors.NotFound (artifact_not_found)."""
        row = await self.get(who, ref)
        if row.owner != who.user_id:  # a model is asked on its owner's account alone
            return Compacted(row, row.summary)
        return Compacted(row, await self._summariser.summary_of(row, await self._words_for(row)))

    async def reading(self, row: ArtifactRow) -> FileReading | None:
        """What the model gets of an artifact whose owner was checked before, as `Attachments.reading`."""
        return await self._deps.attachments.reading(row)

    async def delete(self, who: Principal, ref: str) -> None:
        """Removes it from all sessions that use it. Raises errors.NotFound (artifact_not_found)."""
        await self._deps.artifact_store.delete(who.user_id, ref)

    async def _origin(self, who: Principal, place: UploadPlace) -> Origin:
        """Raises errors.Forbidden (for another user), errors.NotFound (session_not_found), and
        errors.InvalidRequest: it expires in the past, or the session is in another project."""
        if place.user_id not in {None, who.user_id}:
            raise Forbidden("It would be another user's: leave user_id out for your own.")
        if place.expires_at is not None and place.expires_at <= now_ms():
            raise InvalidRequest("expires_at is in the past.")
        origin = Origin(who.user_id, tool_call_id=place.tool_call_id, project_id=place.project_id)
        if place.session_id is None:
            return origin
        session = await self._deps.sessions.get(place.session_id, who.user_id)
        if place.project_id not in {None, session.project_id}:
            raise InvalidRequest(f"Session {session.id} is in another project: leave project_id out.")
        return replace(origin, session_id=session.id, project_id=session.project_id)

    async def _words_for(self, row: ArtifactRow) -> str:
        """What shows the language that its owner writes: the message that it was made for, else itself."""
        if row.session_id is not None and row.turn_id is not None:
            with suppress(NotFound):
                return (await self._deps.turns.get(row.session_id, row.turn_id, row.owner)).input
        return row.compact


async def _joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


def _having(rows: Sequence[ArtifactRow], units: Sequence[Sought]) -> list[ArtifactRow]:
    return [row for row in rows if units and _has_all(row, units)]


def _has_all(row: ArtifactRow, units: Sequence[Sought]) -> bool:
    named = (row.name, row.ref, row.metadata.get("tool"), row.summary, row.compact[:MAX_SHOWN])
    there = set(indexed("\n".join(str(each) for each in named if each)))
    return all(has(there, unit) for unit in units)
