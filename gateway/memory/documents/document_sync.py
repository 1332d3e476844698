"""The documents of a running gateway: read, stored, changed, and polled for changes."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import structlog

from gateway.errors import Conflict, InvalidRequest, NotFound, StorageError
from gateway.files.polling import poll
from gateway.ids import now_ms
from gateway.memory.documents import file_changes
from gateway.memory.documents.document import Document, document_of
from gateway.memory.documents.folder import (
    DOCUMENT,
    SETTLING,
    DocumentFolder,
    FolderContents,
    SkillFoldersInUse,
    read,
)
from gateway.memory.documents.selection import DocumentFile
from gateway.memory.validation import indexed
from gateway.storage.exclusive import Exclusive, LocalExclusive
from gateway.storage.memories import Indexed, MemoryRow
from gateway.storage.memories.store import MemoryStore

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Documents:
    """Belongs to one event loop. With a `store`, the store is kept equal to the folder, also after others
    have changed the folder. That is for gateways alone, which all have the same files and take turns by
    `exclusive`: a command that changes files, perhaps of another folder, has no store, and the gateway
    notices changes of its own folder.

    `skills` and `most_of_skill` are those of `DocumentFolder`. With a `deprecated_ttl` a file is removed that
    has been in `.deprecated` for so many seconds."""

    def __init__(
        self,
        store: MemoryStore | None,
        folder: Path,
        *,
        settling: float = SETTLING,
        skills: SkillFoldersInUse = dict,
        most_of_skill: int | None = None,
        deprecated_ttl: float | None = None,
        exclusive: Exclusive | None = None,
    ) -> None:
        self._store = store
        self._folder = DocumentFolder(folder, settling=settling, skills=skills, most_of_skill=most_of_skill)
        self._deprecated_ttl = deprecated_ttl
        self._found = FolderContents()
        self._stored: tuple[DocumentFile, ...] | None = None
        self._state: int | None = None
        self._exclusive, self._looking = exclusive or LocalExclusive(), threading.Lock()

    @property
    def found(self) -> FolderContents:
        """The result of the last scan."""
        return self._found

    async def refresh(self) -> FolderContents:
        """Scans the folders again. If there is a store, the stored documents are then those in use.

        Raises:
            StorageError: they cannot be stored; the next scan tries again.
        """
        async with self._exclusive.hold("documents"):
            return await self._refresh()

    async def watch(self) -> None:
        """Looks again for ever, as `files.polling.poll` does."""
        await poll(self.refresh, "documents_not_refreshed")

    async def deprecate(self, document_id: str) -> DocumentFile:
        """Takes a document out of use; its file is kept.

        Raises:
            NotFound: there is no such document (document_not_found).
            Conflict: it is deprecated already.
            StorageError: its file cannot be moved.
        """
        async with self._exclusive.hold("documents"):
            found = await self._refresh()
            filed = _of_id(found.documents, document_id)
            if filed is None and _of_id(found.deprecated, document_id):
                raise Conflict(f"{document_id} is deprecated already.")
            if filed is None:
                raise _missing(document_id)
            if filed.of_skill:
                raise Conflict(
                    f"{filed.file} belongs to the skill {filed.of_skill}: switch that off, or take the file "
                    "away."
                )
            return await self._moved(filed, file_changes.deprecate)

    async def restore(self, document_id: str) -> DocumentFile:
        """Takes a deprecated document into use again; of several with that id, the last that was deprecated.

        Raises:
            NotFound: no document of that id is deprecated (document_not_found).
            Conflict: a file of its name is in use.
            StorageError: its file cannot be moved.
        """
        async with self._exclusive.hold("documents"):
            found = await self._refresh()
            aside = [each for each in found.deprecated if each.document.id == document_id]
            filed = max(aside, key=lambda each: (len(each.file), each.file), default=None)
            if filed is None and _of_id(found.documents, document_id):
                raise Conflict(f"{document_id} is in use.")
            if filed is None:
                raise _missing(document_id)
            return await self._moved(filed, file_changes.restore)

    async def update(self, document_id: str, content: str, snippet: str = "") -> DocumentFile:
        """Writes a document anew with another content, updated now. Without a `snippet` it has the beginning
        of the content.

        Raises:
            NotFound: there is no such document in use (document_not_found).
            InvalidRequest: the content is empty or too long, or the file is not JSON.
            StorageError: its file cannot be written.
        """
        async with self._exclusive.hold("documents"):
            filed = _of_id((await self._refresh()).documents, document_id)
            if filed is None:
                raise _missing(document_id)
            if not filed.file.endswith(DOCUMENT):
                raise InvalidRequest(f"{filed.file} is a Markdown file: edit it as such.")

            def change() -> DocumentFile:
                former = read(self._folder.path, filed.file)
                changed = _changed(former, content, snippet)
                file_changes.write(self._folder.path, filed.file, changed)
                return DocumentFile(changed, filed.file)

            try:
                after = await self._run(change)
            except ValueError as error:
                raise InvalidRequest(f"{filed.file} stays as it is: {error}.") from None
            except OSError as error:
                raise StorageError(f"{filed.file} cannot be read: {error.strerror}.") from None
            await self._refresh()
            return after

    async def _moved(self, filed: DocumentFile, move: Callable[[Path, str], str]) -> DocumentFile:
        file = await self._run(lambda: move(self._folder.path, filed.file))
        await self._refresh()
        return replace(filed, file=file)

    async def _refresh(self) -> FolderContents:
        found = await self._run(self._folder.scan)
        if self._deprecated_ttl is not None and await self._run(lambda: self._clean(found)):
            found = await self._run(self._folder.scan)
        for warning in found.warnings:
            if warning not in self._found.warnings:
                log.warning("document_warning", told=warning)
        self._found = found
        if self._store is not None:
            await self._keep(self._store, found.documents)
        return found

    async def _keep(self, store: MemoryStore, documents: tuple[DocumentFile, ...]) -> None:
        state = await store.state()
        if documents == self._stored and (state == self._state or await _has(store, documents)):
            self._state = state
            return
        await store.put_documents(await self._run(lambda: _rows(documents)))
        self._stored = documents

    def _clean(self, found: FolderContents) -> bool:
        """Whether anything was removed."""
        before = now_ms() - int((self._deprecated_ttl or 0) * 1000)
        files = [each.file for each in found.deprecated]
        removed = file_changes.remove_deprecated(self._folder.path, files, before)
        for file in removed:
            log.info("document_removed", file=file)
        return bool(removed)

    async def _run(self, work: Callable[[], T]) -> T:
        """Runs `work` in a thread, since it reads files. It goes on when its caller is cancelled, and a lock
        makes the next one wait for it."""

        def alone() -> T:
            with self._looking:
                return work()

        return await asyncio.to_thread(alone)


async def _has(store: MemoryStore, documents: Sequence[DocumentFile]) -> bool:
    """Whether as many documents are stored, with as much in them: by their number and characters, which is
    quick. A store in which others have put documents is at another pair in all likelihood."""
    characters = sum(len(each.document.content) for each in documents)
    return await store.documented() == (len(documents), characters)


def _rows(filed: Sequence[DocumentFile]) -> list[tuple[MemoryRow, Sequence[Indexed]]]:
    return [(each.row, _Index(each.row)) for each in filed]


class _Index(Sequence[Indexed]):
    """The search tokens of a document, made on demand: a store that has the document as it is does not ask,
    and a folder at its bounds has millions of search tokens."""

    def __init__(self, row: MemoryRow) -> None:
        self._row = row

    @cached_property
    def _made(self) -> list[Indexed]:
        return indexed(self._row)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Indexed: ...
    @overload
    def __getitem__(self, index: slice) -> list[Indexed]: ...
    def __getitem__(self, index: int | slice) -> Indexed | list[Indexed]:
        return self._made[index]


def _changed(former: Document, content: str, snippet: str) -> Document:
    """Raises ValueError when it cannot be a document's."""
    fields: dict[str, Any] = former.model_dump(by_alias=True)
    at = max(now_ms(), former.updated_at + 1)
    return document_of({**fields, "content": content, "snippet": snippet, "updatedAt": at}, at)


def _of_id(filed: Sequence[DocumentFile], document_id: str) -> DocumentFile | None:
    return next((each for each in filed if each.document.id == document_id), None)


def _missing(document_id: str) -> NotFound:
    return NotFound(
        f"There is no document {document_id[:64]}. List the documents to see their ids.",
        code="document_not_found",
    )
