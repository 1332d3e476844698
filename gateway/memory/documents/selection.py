"""Selection of the documents in use: one of each key and id. Pure."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gateway.memory.documents.document import Document, file_name
from gateway.storage.memories import MemoryRow

MAX_CHARACTERS = 2_000_000
"""Of the contents of all documents together: storing them for the first time takes some seconds, for which
other writers of memories wait."""


@dataclass(frozen=True)
class DocumentFile:
    """A document and its file, relative to the folder; `other_name` is another name that the file may have.
    With an `of_skill` it is a file of that written skill, which lies elsewhere."""

    document: Document
    file: str
    other_name: str = ""
    of_skill: str = ""

    @cached_property
    def row(self) -> MemoryRow:
        """The document as a memory. Cached: the comparison of contents is the most expensive part of a
        scan."""
        return self.document.as_row


def select(
    filed: Sequence[DocumentFile], *, most_of_skill: int | None = None
) -> tuple[list[DocumentFile], list[str]]:
    """Of several documents of one skill, type and reference the newest is in use, of equally new ones the
    first; of several with one id the same. Then of each skill the `most_of_skill` newest, and as many as the
    bound of all allows. Also the warnings: which are left out and why, and which files have another name than
    they should."""
    warnings: list[str] = []
    chosen = _newest(filed, lambda each: each.document.key, "the same skill, type and reference", warnings)
    chosen = _newest(chosen, lambda each: each.document.id, "the same id", warnings)
    if most_of_skill is not None:
        chosen = _fewer(chosen, most_of_skill, warnings)
    used: list[DocumentFile] = []
    characters_left = MAX_CHARACTERS
    for each in chosen:
        characters_left -= len(each.document.content)
        if characters_left < 0:
            warnings.append(f"{each.file} and those after it are left out: all together are too long.")
            break
        used.append(each)
        name = file_name(each.document.key)
        if each.file.endswith(".json") and each.file not in {name, each.other_name}:
            warnings.append(
                f"{each.file} should be called {name}: `gateway documents migrate` gives files their names."
            )
    return used, warnings


def _newest(
    filed: Iterable[DocumentFile], same: Callable[[DocumentFile], Hashable], what: str, warnings: list[str]
) -> list[DocumentFile]:
    newest: dict[Hashable, DocumentFile] = {}
    for each in filed:
        known = newest.setdefault(same(each), each)
        if known is each:
            continue
        winner, other = (each, known) if _is_newer(each, known) else (known, each)
        newest[same(each)] = winner
        warnings.append(f"{other.file} is left out: {winner.file} has {what} and is not older.")
    return sorted(newest.values(), key=lambda each: each.file)


def _is_newer(one: DocumentFile, other: DocumentFile) -> bool:
    return one.document.updated_at > other.document.updated_at


def _fewer(chosen: Sequence[DocumentFile], most: int, warnings: list[str]) -> list[DocumentFile]:
    """The newest `most` of each skill, in the same order."""
    count = Counter[str]()
    left: list[DocumentFile] = []
    for each in sorted(chosen, key=lambda each: (-each.document.updated_at, each.file)):
        count[each.document.skill] += 1
        if count[each.document.skill] <= most:
            left.append(each)
        else:
            warnings.append(
                f"{each.file} is left out: {most} newer ones of skill {each.document.skill} are in use "
                "(GATEWAY_DOCUMENTS_PER_SKILL)."
            )
    return sorted(left, key=lambda each: each.file)
