"""The folder of the documents; nothing outside of it is read.

    documents/
      logo-design-skill-0f3a….json      documents
      references/colours.md             references
      .deprecated/                      what was taken out of use, and can be restored

and beside it the references/*.md of written skills, in their folders. Nothing else is looked into. A file
that cannot be used is a warning, and its former content stays in use.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from gateway.files.confined_read import Read, State, read_file, state_at
from gateway.memory.documents.document import Document, document_of, fields_of, name_by_content
from gateway.memory.documents.reference_file import reference_of
from gateway.memory.documents.selection import DocumentFile, select

DOCUMENT, REFERENCE = ".json", ".md"
REFERENCES, DEPRECATED = "references", ".deprecated"
PLACES = {"": (DOCUMENT,), REFERENCES: (REFERENCE,), DEPRECATED: (DOCUMENT, REFERENCE)}
"""Where documents are, and how their files end there."""

_AGAIN = re.compile(r"~\d+(?=\.[a-z]+$)")

SkillFoldersInUse = Callable[[], Mapping[str, Path]]
MAX_SIZE = 1_048_576
"""Bytes of a file; of a larger one nothing is read."""
MAX_FILES, MAX_ENTRIES, MAX_WARNINGS = 2_000, 10_000, 100
"""Of each place: files that are read, entries that are looked at; and warnings of all."""
SETTLING = 2.0
"""Seconds after its last change in which a file that cannot be used may be one that is just being written."""


@dataclass(frozen=True, slots=True)
class FolderContents:
    """`documents` are in use, with ids and keys that differ; `deprecated` are not, each as of its file. Both
    by the names of their files."""

    documents: tuple[DocumentFile, ...] = ()
    deprecated: tuple[DocumentFile, ...] = ()
    warnings: tuple[str, ...] = ()


class DocumentFolder:
    """Not for use by several threads at once. `skills` gives the folders of the written skills that are in
    use now, by their names; `most_of_skill` bounds the documents of each skill."""

    def __init__(
        self,
        path: Path,
        *,
        settling: float = SETTLING,
        skills: SkillFoldersInUse = dict,
        most_of_skill: int | None = None,
    ) -> None:
        self.path = path
        self._settling = settling
        self._skills = skills
        self._most_of_skill = most_of_skill
        self._read: dict[str, _Reading] = {}
        self._last = FolderContents()

    def scan(self) -> FolderContents:
        """The contents now; the same object as before when nothing has changed. A file is read again only
        when its state (times, size, inode) is another. An absent folder is an empty one, and one that cannot
        be listed is as it was. Never raises: what cannot be used is a warning.

        A file that cannot be used counts as it last was, if it was ever good; and the warning comes only when
        it has not changed for `settling` seconds, since before that it may be half edited.
        """
        warnings: list[str] = []
        read: dict[str, _Reading] = {}
        for place, endings in PLACES.items():
            try:
                states = dict(
                    _states(self.path, place, endings, warnings, misplaced="" if place else REFERENCE)
                )
            except OSError as error:
                warnings.append(f"{place or 'The folder'} cannot be listed: {error.strerror}.")
                states = {file: each.state for file, each in self._read.items() if _place(file) == place}
            read |= self._look_at(states, self.path)
        for skill, folder in self._skills().items():
            try:
                states = dict(_states(folder, REFERENCES, (REFERENCE,), warnings))
            except OSError as error:
                warnings.append(f"The references of skill {skill} cannot be listed: {error.strerror}.")
            else:
                read |= self._look_at(states, folder, skill)
        self._read = read
        warnings += [f"{file} cannot be used: {each.problem}." for file, each in read.items() if each.problem]
        filed = [each.filed for each in read.values() if each.filed is not None]
        used, unused = select(
            [each for each in filed if _place(each.file) != DEPRECATED], most_of_skill=self._most_of_skill
        )
        found = FolderContents(
            tuple(used),
            tuple(each for each in filed if _place(each.file) == DEPRECATED),
            tuple([*warnings, *unused][:MAX_WARNINGS]),
        )
        if found != self._last:
            self._last = found
        return self._last

    def _look_at(
        self, states: Mapping[str, State | None], root: Path, skill: str = ""
    ) -> "dict[str, _Reading]":
        """The documents of a place's files as they are now, by the names that are shown to people."""
        readings: dict[str, _Reading] = {}
        for file, state in states.items():
            shown = f"{skill}/{file}" if skill else file
            known = self._read.get(shown)
            if known is None or known.state != state or (known.filed and known.filed.of_skill != skill):
                known = self._look(root, file, skill, state, known)
            readings[shown] = known
        return readings

    def _look(
        self, root: Path, file: str, skill: str, state: State | None, known: "_Reading | None"
    ) -> "_Reading":
        former = known.filed if known else None
        try:
            return _Reading(state, filed(root, file, skill))
        except ValueError as error:
            settling = bool(state) and abs(time.time_ns() - state[0]) < self._settling * 1e9
            return _Reading(None, former) if settling else _Reading(state, former, str(error))
        except OSError as error:
            return _Reading(None, former, f"it cannot be read: {error.strerror}")


def filed(root: Path, file: str, skill: str = "") -> DocumentFile:
    """The document of a file of the folder, or of that of a `skill`. Raises as `content_of`, and ValueError
    when it contains none."""
    content, changed = content_of(root, file)
    if skill:
        return DocumentFile(
            reference_of(content, file, changed, of_skill=skill), f"{skill}/{file}", of_skill=skill
        )
    if file.endswith(REFERENCE):
        place = unnumbered(file) if _place(file) == DEPRECATED else file
        return DocumentFile(reference_of(content, place, changed), file)
    fields = fields_of(content)
    document = document_of(fields, changed)
    return DocumentFile(document, file, name_by_content(document.key, str(fields.get("content", ""))))


def read(root: Path, file: str) -> Document:
    """The document of a file. Raises as `filed`."""
    return filed(root, file).document


def content_of(root: Path, file: str) -> Read:
    """A file of the folder. Raises what `confined_read.read_file` does, and ValueError when it is gone."""
    try:
        return read_file(root, file, MAX_SIZE)
    except FileNotFoundError:
        raise ValueError("it is gone, or a link that leads nowhere") from None


def files_of(root: Path) -> list[str]:
    """The JSON files of a folder by name, MAX_FILES at most. Raises OSError when it cannot be listed."""
    return [file for file, _ in _states(root, "", (DOCUMENT,), [])]


@dataclass(frozen=True, slots=True)
class _Reading:
    """The last reading of a file, in `state` (None: read it again at the next scan). `filed` is the document
    as it could be read last: of an earlier state when `problem` says why the present one cannot be used, or
    while a file that cannot be used is still being written."""

    state: State | None
    filed: DocumentFile | None
    problem: str = ""


def _place(file: str) -> str:
    return file.rpartition("/")[0]


def _states(
    root: Path,
    place: str,
    endings: tuple[str, ...],
    warnings: list[str],
    *,
    misplaced: str = "",
) -> Iterator[tuple[str, State]]:
    """The files of a place by name, each with its state; a warning names those that end as `misplaced`.
    Raises OSError when it cannot be listed."""
    known = (*endings, misplaced) if misplaced else endings
    try:
        with os.scandir(root / place) as entries:
            named = {each.name: each for each in islice(entries, MAX_ENTRIES) if each.name.endswith(known)}
        if not (root / place).resolve().is_relative_to(root.resolve()):
            warnings.append(f"{place} is a link that leads out of the folder: not followed.")
            return
    except FileNotFoundError:
        return
    found = sorted(name for name in named if not name.startswith("."))
    names = [name for name in found if name.endswith(endings)]
    others = [name for name in found if not name.endswith(endings) and name.casefold() != "readme.md"]
    if others:
        more = f" and {len(others) - 1} more are" if len(others) > 1 else " is"
        warnings.append(f"{others[0]!a}{more} not read: Markdown is read in {REFERENCES}/.")
    if len(names) > MAX_FILES:
        warnings.append(
            f"{place or 'The folder'} has more than {MAX_FILES} files: what comes after "
            f"{names[MAX_FILES - 1]!a} is left out."
        )
    for name in names[:MAX_FILES]:
        if not name.isprintable():
            warnings.append(f"{name!a} has a name that cannot be shown: not read.")
            continue
        yield (f"{place}/{name}" if place else name), state_at(named[name])


def numbered(name: str, number: int) -> str:
    """The name of the `number`th file of this name that is kept: `name.json`, `name~2.json`, …"""
    stem, dot, ending = name.rpartition(".")
    return name if number == 1 else f"{stem}~{number}{dot}{ending}"


def unnumbered(name: str) -> str:
    """The name without what `numbered` added."""
    return _AGAIN.sub("", name)
