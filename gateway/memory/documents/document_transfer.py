"""Runtime memories of type skill and reference as files, and back.

What a file has no field for is not kept: importance, tags, evidence, of which role or project it is.
Exporting, importing elsewhere and exporting again writes the same bytes.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gateway.errors import DuplicateMemory, InvalidRequest, MemoryChanged, MemoryFull, StorageError
from gateway.ids import new_memory_id
from gateway.memory import validation
from gateway.memory.changes import Attribution
from gateway.memory.documents import file_changes
from gateway.memory.documents.document import Document, DocumentType, Key, document_of, file_name, iso
from gateway.memory.documents.folder import files_of, read
from gateway.memory.export import pages
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Filter, MemoryRow, Scope, Viewer

NO_SKILL = "memories"
"""The skill, in files, of memories that are of none."""

Outcome = Literal["written", "remembered", "updated", "unchanged", "left out"]
_TYPES: tuple[DocumentType, ...] = ("skill", "reference")


@dataclass(frozen=True, slots=True)
class TransferOutcome:
    """The outcome for one file, or for a memory that is exported to one, with the reason if it was left
    out."""

    name: str
    outcome: Outcome
    reason: str = ""


async def export_files(memories: Memories, viewer: Viewer, folder: Path) -> list[TransferOutcome]:
    """Writes the viewer's memories of type skill and reference that are in force to files in `folder`, which
    is made. Of several of one skill, type and reference the newest is written. A file that is newer, or as
    new, stays as it is; of an older one what memories do not have is kept: its id and how it is described.

    Raises:
        errors.StorageError: memories cannot be read, or files not be written.
    """
    rows = await _runtime(memories, viewer)
    return await asyncio.to_thread(lambda: [_export(row, folder) for row in rows])


async def import_files(
    memories: Memories, scope: Scope, folder: Path, by: Attribution
) -> list[TransferOutcome]:
    """Stores the JSON files of a folder as memories of the user, in each of their roles, with the
    files' times. A memory of the same skill, type and reference is replaced by the file if the file is newer,
    and else stays as it is.

    Raises:
        errors.StorageError: the folder cannot be listed, or memories not be written.
    """
    try:
        files = await asyncio.to_thread(files_of, folder)
    except OSError as error:
        raise StorageError(f"The folder cannot be listed: {error.strerror}.", retryable=False) from None
    known = {document_key(row): row for row in reversed(await _runtime(memories, scope))}
    done: list[TransferOutcome] = []
    for file in files:
        try:
            document = await asyncio.to_thread(read, folder, file)
            outcome = await _import(memories, scope, document, known.get(document.key), by)
        except (ValueError, OSError) as error:
            done.append(TransferOutcome(file, "left out", str(error)))
        except (InvalidRequest, DuplicateMemory, MemoryChanged, MemoryFull) as error:
            done.append(TransferOutcome(file, "left out", error.message))
        else:
            done.append(TransferOutcome(file, outcome))
    return done


def document_key(row: MemoryRow) -> Key:
    """That of the memory's file. References without a name of their own go by their id."""
    kind: DocumentType = "skill" if row.type == "skill" else "reference"
    reference = row.reference or (row.id if kind == "reference" else "")
    return Key(row.skill or NO_SKILL, kind, reference)


async def _runtime(memories: Memories, viewer: Viewer) -> list[MemoryRow]:
    """The viewer's memories that can be files and are in force, one of each key: the newest."""
    which = Filter(types=_TYPES, statuses=("active", "suppressed"), quarantined=False, runtime=True)
    newest: dict[Key, MemoryRow] = {}
    async for page in pages(memories.store, viewer, which):
        for row in page:  # the newest first
            newest.setdefault(document_key(row), row)
    return sorted(newest.values(), key=document_key)


def _export(row: MemoryRow, folder: Path) -> TransferOutcome:
    name = file_name(document_key(row))
    try:
        former = read(folder, name) if (folder / name).exists() else None
        if former is not None and former.updated_at >= row.updated_at:
            return TransferOutcome(name, "unchanged")
        document = _as_document(row, former)
    except (ValueError, OSError) as error:
        return TransferOutcome(name, "left out", str(error))
    file_changes.write(folder, name, document)
    return TransferOutcome(name, "written")


def _as_document(row: MemoryRow, former: Document | None) -> Document:
    """Raises ValueError when it cannot be one."""
    skill, kind, reference = document_key(row)
    kept = former.model_dump(by_alias=True) if former else {"createdAt": iso(row.created_at)}
    described = {"skillDescription": row.context} if row.context else {}
    current = {"content": row.content, "snippet": row.summary, "updatedAt": iso(row.updated_at)}
    named = {"type": kind, "skill": skill, "reference": reference}
    return document_of({**kept, **described, **current, **named}, row.updated_at)


async def _import(
    memories: Memories, scope: Scope, document: Document, known: MemoryRow | None, by: Attribution
) -> Outcome:
    """Raises what `validation.make` and `MemoryStore.write` raise."""
    if known is not None and known.updated_at >= document.updated_at:
        return "unchanged"
    filed = document.as_row
    new = NewMemory(
        content=filed.content,
        type=filed.type,
        summary=filed.summary,
        source="import",
        context=document.skill_description or None,
        skill=filed.skill,
        reference=filed.reference,
    )
    row = validation.make(new, Scope(scope.user_id), new_memory_id(), document.updated_at)
    if known is None:
        row = replace(row, created_at=document.created_at)
        await memories.apply([await memories.plan(row, "remembered", by)])
        return "remembered"
    taken = ("content", "summary", "digest", "context", "updated_at", "last_used")
    changed = replace(known, version=known.version + 1, **{name: getattr(row, name) for name in taken})
    await memories.apply([await memories.plan(changed, "updated", by)])
    return "updated"
