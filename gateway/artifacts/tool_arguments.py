"""Artifacts as arguments: `{"$artifact": "ART-…", "json_path"?: "$.rows"}` in place of any value of a call's
arguments stands for the content. It is put there on the server, with the rights of the turn's owner,
and neither the model nor the event log ever hold it."""

import asyncio
import base64
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.reading.chunks import readable, text_of
from gateway.artifacts.reading.json_path import values_at
from gateway.artifacts.store_events import PassedOn
from gateway.errors import BadArguments, NotFound, RequestRefused, StorageError, ToolError
from gateway.storage.artifacts import TEXTS, ArtifactRow

KEY, PATH = "$artifact", "json_path"
MAX_REFERENCES = 20
"""References in the arguments of one call."""

_SINGULAR = re.compile(
    r"""\$(?:\s*(?:\.\s*[^\W\d]\w*|\[\s*(?:-?\d+|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]))*"""
)
_HOW = 'Write {"$artifact": "ART-…"} for the whole content, and with "json_path": "$.…" for a part of JSON.'


class References:
    """References that stand for contents in the arguments of a call."""

    def __init__(self, store: ArtifactStore, *, most_bytes: int) -> None:
        self._store = store
        self._most_bytes = most_bytes
        """Of all contents that the arguments of one call may come to."""

    async def filled(
        self,
        arguments: dict[str, Any],
        *,
        owner: str,
        session_id: str,
        is_asked: bool = False,
        only_used: bool = False,
    ) -> dict[str, Any]:
        """The arguments with contents in place of references; the same object when there are none. The whole
        of an artifact is text, or base64 of what is no text. A JSON path that can have one match only (RFC
        9535, 2.3.5.1, "singular queries") stands for its value, any other for a list of values. The session
        uses these artifacts from then on, unless a person `is_asked` first; `only_used`: it has to before.

        Raises:
            errors.BadArguments: a reference is not of the right form, names nothing of the owner's, or they
                come to too much.
            errors.ToolError: the content cannot be read now.
        """
        references = list(_found(arguments))
        if not references:
            return arguments
        if len(references) > MAX_REFERENCES:
            raise BadArguments(
                f"{len(references)} artifacts are too many for one call: {MAX_REFERENCES} at most."
            )
        within = session_id if only_used else None
        left, contents = self._most_bytes, dict[int, Any]()
        for reference in references:
            contents[id(reference)], size = await self._content(owner, reference, left, within)
            if not is_asked:
                self._store.on_event(PassedOn(size, part=reference.get(PATH) is not None))
            left -= size
        if not is_asked:
            await self._use(owner, session_id, {reference[KEY] for reference in references})
        return _replaced(arguments, contents)

    async def _use(self, owner: str, session_id: str, refs: Collection[str]) -> None:
        try:
            await self._store.use(owner, session_id, refs)
        except StorageError as error:
            raise ToolError(
                f"The artifacts cannot be passed on: {error.message}", cause=error.cause
            ) from None

    async def _content(
        self, owner: str, reference: Mapping[str, Any], left: int, within: str | None
    ) -> tuple[Any, int]:
        """The content, and how many bytes it came to."""
        ref, path = reference[KEY], reference.get(PATH)
        if set(reference) - {KEY, PATH} or not isinstance(ref, str) or not isinstance(path, str | None):
            raise BadArguments(f"This is no reference to an artifact: {str(reference)[:200]}. {_HOW}")
        try:
            row = await self._store.get(owner, ref, within=within)
            if path is None:
                return await self._whole(row, left), row.size
            values = await values_at(self._store, row, path, most_bytes=left)
        except NotFound:
            raise BadArguments(
                f"There is no artifact {ref[:64]}. Copy its reference as it was told."
            ) from None
        except RequestRefused as error:
            reason = error.message.removeprefix(f"{ref}: ").removeprefix(f"{ref} ")
            raise BadArguments(f"{ref}: {reason}") from None
        except StorageError as error:
            raise ToolError(f"{ref} cannot be read: {error.message}", cause=error.cause) from None
        size = await asyncio.to_thread(_size_of, values)
        if not _SINGULAR.fullmatch(path):
            return values, size
        if not values:
            raise BadArguments(
                f"Nothing in {ref} is at {path[:200]}: read a part of it first to see its shape."
            )
        return values[0], size

    async def _whole(self, row: ArtifactRow, left: int) -> str:
        if row.size > left:
            raise BadArguments(
                f"{row.ref} has {row.size} bytes: those of one call may come to {self._most_bytes}. "
                "Pass a part of it with json_path, or pass it alone."
            )
        data = b"".join([piece async for piece in self._store.stream(row)])
        return readable(text_of(data)) if row.kind in TEXTS else base64.b64encode(data).decode()


def _size_of(values: list[Any]) -> int:
    return len(json.dumps(values, ensure_ascii=False))


def _found(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as given if KEY in given:
                yield given
            case dict() as given:
                waiting += given.values()
            case list() as given:
                waiting += given
            case _:
                pass


def _replaced(value: Any, contents: Mapping[int, Any]) -> Any:
    # No deeper than what a model wrote and the parser took.
    match value:
        case dict() if id(value) in contents:
            return contents[id(value)]
        case dict():
            return {name: _replaced(inner, contents) for name, inner in value.items()}
        case list():
            return [_replaced(inner, contents) for inner in value]
        case _:
            return value
