"""Bringing files of older forms to today's: names of fields, dates, meta, and the names of the files.

skill_description, created_at, …   ─▶ skillDescription, createdAt, …
timestamp                          ─▶ createdAt (in seconds or milliseconds, or ISO 8601)
no id, no meta, no dates           ─▶ filled in
skill-type.json, 8-digit hash      ─▶ {skill}-{type}-{hash}.json
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.errors import StorageError
from gateway.memory.documents import file_changes
from gateway.memory.documents.document import (
    Document,
    document_of,
    fields_of,
    file_name,
    is_document_id,
    modern_name,
)
from gateway.memory.documents.folder import content_of, files_of


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """The outcome, or the planned one, for a file: its `name` today and each change to it, or the `problem`
    for which it stays as it is. Without either it was in today's form."""

    file: str
    name: str
    changes: tuple[str, ...] = ()
    problem: str | None = None


def migrate(root: Path, *, dry_run: bool = False) -> list[MigratedFile]:
    """Brings the JSON files of a folder to today's form, each whole or not at all; by name. What is in
    today's form is not touched, so that a second run does nothing.

    Raises:
        errors.StorageError: the folder cannot be listed, or a file not be written.
    """
    try:
        files = files_of(root)
    except OSError as error:
        raise StorageError(f"The folder cannot be listed: {error.strerror}.", retryable=False) from None
    taken = set(files)
    return [_migrate(root, file, taken, dry_run=dry_run) for file in files]


def modern(fields: dict[str, Any], at: int) -> tuple[Document, list[str]]:
    """The document of a file's fields in any form, and what was changed; `at` stands for a time that it does
    not contain. Raises ValueError as `document_of` does."""
    changes: list[str] = []
    given = _renamed(fields, changes)
    if isinstance(given.get("meta"), dict):
        given["meta"] = _renamed(given["meta"], changes)
    if "timestamp" in given:
        moment = given.pop("timestamp")
        given.setdefault("createdAt", moment)
        changes.append("timestamp is createdAt")
    if not is_document_id(given.get("id")):
        given.pop("id", None)
    changes += [
        f"{name} is filled in" for name in ("id", "createdAt", "updatedAt", "meta") if given.get(name) is None
    ]
    return document_of(given, at), changes


def _migrate(root: Path, file: str, taken: set[str], *, dry_run: bool) -> MigratedFile:
    try:
        content, at = content_of(root, file)
        document, changes = modern(fields_of(content), at)
    except ValueError as error:
        return MigratedFile(file, file, problem=str(error))
    except OSError as error:
        return MigratedFile(file, file, problem=f"it cannot be read: {error.strerror}")
    name = file_name(document.key)
    if name != file and name in taken:
        return MigratedFile(
            file, file, problem=f"{name} is there already, with the same skill, type, reference"
        )
    if name != file:
        changes.append("the file's name")
    if changes and not dry_run:
        file_changes.write(root, name, document)
        if name != file:
            file_changes.remove(root, file)
    taken.add(name)
    return MigratedFile(file, name, tuple(changes))


def _renamed(fields: dict[str, Any], changes: list[str]) -> dict[str, Any]:
    """With names in camelCase. Where both are there, neither is touched, and the old one refused later."""
    renamed: dict[str, Any] = {}
    for name, value in fields.items():
        modern = modern_name(name)
        if modern == name or modern in fields:
            renamed[name] = value
        else:
            changes.append(f"{name[:64]} is {modern[:64]}")
            renamed[modern] = value
    return renamed
