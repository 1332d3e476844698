"""The operations of whole persons: a file with everything about a user, and their erasure.

    manifest.json            last: what there is, with counts, hashes and what was left out
    sessions.jsonl           as GET /api/export writes it, with archives and the contents of their artifacts
    artifacts.jsonl, artifacts/ART-…   what is known of each, and its content
    memories.jsonl           each with its versions and evidence, deleted ones too
    profile.json, usage.json, audit.jsonl
    messages_elsewhere.jsonl what they wrote in sessions of others
    schedules.jsonl, webhooks.jsonl, api_keys.jsonl, …   rows of the tables in `storage/persons/tables.py`

Nothing secret is in it: neither keys nor their hashes, nor secrets of webhooks.
"""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import orjson
import structlog

from gateway import __version__
from gateway.auth import Principal, tenant_of
from gateway.errors import GatewayError, InvalidRequest, NotFound
from gateway.ids import new_erasure_id, now_ms
from gateway.memory.households import households_of
from gateway.service.admin_rights import person_of
from gateway.service.audit import AuditRecorder
from gateway.service.dependencies import Dependencies
from gateway.service.gateway import Gateway
from gateway.service.person_erasure import pseudonym_of
from gateway.service.users_being_erased import BeingErased
from gateway.service.zip_stream import ZipStream
from gateway.storage.audit import AuditLog
from gateway.storage.memories import AllScopes, Filter, MemoryRow
from gateway.storage.persons import Erasure, Key, PersonErasures, Persons
from gateway.storage.replica_signals import Signal

FORMAT = 1
PAGE = 200
PIECE = 262_144
"""Bytes of lines that are compressed at a time."""

Lines = AsyncGenerator[Mapping[str, Any]]
Page = Callable[..., Awaitable[tuple[Sequence[Mapping[str, Any]], Key | None]]]

log = structlog.get_logger(__name__)


class PersonalData:
    """One per process."""

    def __init__(
        self,
        deps: Dependencies,
        gateway: Gateway,
        *,
        persons: Persons,
        erasures: PersonErasures,
        audit: AuditLog,
        recorder: AuditRecorder,
        being_erased: BeingErased,
    ) -> None:
        self._deps = deps
        self._gateway = gateway
        self._persons = persons
        self._erasures = erasures
        self._audit = audit
        self._recorder = recorder
        self._being_erased = being_erased

    # Export

    def named(self, who: Principal, user: str, tenant: str | None) -> str:
        """The id of a user that an admin names. Raises errors.Forbidden."""
        return person_of(who, user, tenant)

    async def export(self, user_id: str) -> AsyncGenerator[bytes]:
        """A zip archive, in pieces. Who may have it was checked before. Raises errors.StorageError; what
        cannot be read of a session, or of an artifact, is named instead."""
        archive, files, left_out = ZipStream(), dict[str, Any](), list[Mapping[str, Any]]()
        try:
            async for name, chunks in self._files(user_id, left_out):
                counted = _Counted(chunks)
                async for piece in archive.file(name, counted.chunks()):
                    yield piece
                files[name] = {"bytes": counted.size, "sha256": counted.digest.hexdigest()}
                if name.endswith(".jsonl"):
                    files[name]["lines"] = counted.lines
            manifest = {
                "format": FORMAT,
                "version": __version__,
                "user_id": user_id,
                "tenant": tenant_of(user_id),
                "at": now_ms(),
                "files": files,
                "left_out": left_out,
            }
            async for piece in archive.file("manifest.json", _one(manifest)):
                yield piece
            yield archive.end()
        finally:
            archive.leave()

    async def _files(
        self, user_id: str, left_out: list[Mapping[str, Any]]
    ) -> AsyncGenerator[tuple[str, AsyncIterable[bytes]]]:
        who = Principal(user_id)
        yield "sessions.jsonl", self._sessions(who, left_out)
        yield "artifacts.jsonl", _lines(self._artifacts(user_id))
        async for row in self._artifact_rows(user_id):
            yield f"artifacts/{row.ref}", self._content(row, left_out)
        if self._deps.memory is not None:
            yield "memories.jsonl", _lines(self._memories(user_id))
            profile = await self._deps.memory.store.profile("user", user_id)
            if profile is not None:
                yield "profile.json", _one(asdict(profile))
        for table in self._persons.exported:
            yield f"{table}.jsonl", _lines(_rows(partial(self._persons.page, table, user_id)))
        yield "messages_elsewhere.jsonl", _lines(_rows(partial(self._persons.elsewhere, user_id)))
        used = await self._gateway.turns.usage(who, 0)
        models = [asdict(each) | {"usage": each.usage.model_dump()} for each in used]
        yield "usage.json", _one({"models": models})
        yield "audit.jsonl", _lines(self._entries(user_id))

    async def _sessions(self, who: Principal, left_out: list[Mapping[str, Any]]) -> AsyncGenerator[bytes]:
        async for chunk in self._gateway.records.export_all(who):
            if chunk.startswith(b'{"kind":"sessions_end"'):
                left_out += orjson.loads(chunk).get("left_out", [])
            elif chunk.startswith(b'{"kind":"error"'):
                left_out.append(orjson.loads(chunk))
            yield chunk

    async def _artifact_rows(self, user_id: str) -> AsyncGenerator[Any]:
        before: tuple[int, str] | None = None
        while found := await self._deps.artifacts.find(user_id, limit=PAGE, before=before):
            for row in found:
                yield row
            before = (found[-1].created_at, found[-1].ref)

    async def _artifacts(self, user_id: str) -> Lines:
        async for row in self._artifact_rows(user_id):
            yield {name: value for name, value in asdict(row).items() if name not in {"chunks", "path"}}

    async def _content(self, row: Any, left_out: list[Mapping[str, Any]]) -> AsyncGenerator[bytes]:
        try:
            async for piece in self._deps.artifact_store.stream(row):
                yield piece
        except NotFound:
            left_out.append({"artifact": row.ref, "code": "artifact_not_found"})
        except GatewayError as error:
            left_out.append({"artifact": row.ref, "code": error.code})

    async def _memories(self, user_id: str) -> Lines:
        assert self._deps.memory is not None
        store = self._deps.memory.store
        viewer = AllScopes(user_id, households_of(self._deps.settings, user_id))
        before: tuple[int, str] | None = None
        while found := await store.list(viewer, Filter(runtime=True), limit=PAGE, before=before):
            for row in found:
                yield await self._memory(viewer, row.id, row)
            before = (found[-1].updated_at, found[-1].id)
        before = None
        while gone := await store.tombstones(viewer, limit=PAGE, before=before):
            for each in gone:
                yield await self._memory(viewer, each.id, None) | {"deleted_at": each.deleted_at}
            before = (gone[-1].deleted_at, gone[-1].id)

    async def _memory(self, viewer: AllScopes, memory_id: str, row: MemoryRow | None) -> dict[str, Any]:
        assert self._deps.memory is not None
        store = self._deps.memory.store
        return {
            "id": memory_id,
            "memory": asdict(row) if row is not None else None,
            "versions": [asdict(each) for each in await store.versions(viewer, memory_id)],
            "evidence": [asdict(each) for each in await store.evidence(viewer, memory_id)],
            "links": [asdict(each) for each in await store.links(memory_id)],
        }

    async def _entries(self, user_id: str) -> Lines:
        before: int | None = None
        await self._recorder.catch_up()
        while found := await self._audit.about(user_id, before=before, limit=PAGE):
            for each in found:
                yield {"number": each.number, **asdict(each.entry)}
            before = found[-1].number

    # Erasure

    async def erase(self, who: Principal, user_id: str, typed: str) -> Erasure:
        """Has everything of a user erased. `typed` is their id, as a person typed it. Repeated, it is the
        erasure that is under way.

        Raises:
            errors.InvalidRequest: (not_confirmed) another id was typed.
            errors.Conflict: (legal_hold).
            errors.Forbidden: (not_with_this_key).
        """
        await self._gateway.keys.check_in_person(who)
        if typed not in {user_id, user_id.rpartition("/")[2]}:
            raise InvalidRequest(
                "Nothing was erased: confirm it with the id of the user who is to be erased.",
                code="not_confirmed",
            )
        erasure = Erasure(new_erasure_id(), tenant_of(user_id), user_id, who.user_id, now_ms())
        stored = await self._erasures.request(erasure)
        self._being_erased.add(user_id)
        await self._end_access(user_id)
        return stored

    async def _end_access(self, user_id: str) -> None:
        """At once, in all processes. What fails here is done by who erases."""
        try:
            await self._deps.turns.notify(Signal("revoked", user_id))
            await self._gateway.turns.stop(await self._deps.turns.unfinished(user_id, PAGE))
        except GatewayError as error:
            log.warning("access_not_ended", user_id=user_id, code=error.code, error=str(error))

    async def erasure(self, user_id: str) -> Erasure:
        """The newest of a user. Raises errors.NotFound (erasure_not_found)."""
        tenant = tenant_of(user_id)
        names = [pseudonym_of(each, user_id) for each in await self._erasures.ids(tenant)]
        found = await self._erasures.of(user_id, *names)
        if found is None:
            raise NotFound("There is no erasure of this user.", code="erasure_not_found")
        return found


class _Counted:
    """Chunks that are counted and hashed on their way."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = chunks
        self.digest = hashlib.sha256()
        self.size = self.lines = 0

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The same."""
        async for chunk in self._chunks:
            self.digest.update(chunk)
            self.size += len(chunk)
            self.lines += chunk.count(b"\n")
            yield chunk


async def _rows(page: Page) -> Lines:
    after: Key | None = None
    while True:
        found, after = await page(after=after, limit=PAGE)
        for row in found:
            yield row
        if after is None:
            return


async def _lines(rows: Lines) -> AsyncGenerator[bytes]:
    """One JSON object a line, some lines at a time."""
    held, size = list[bytes](), 0
    async for row in rows:
        line = orjson.dumps(row, default=str) + b"\n"
        held.append(line)
        size += len(line)
        if size >= PIECE:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


async def _one(value: Mapping[str, Any]) -> AsyncGenerator[bytes]:
    yield orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2) + b"\n"
