"""The archives of a session's versions, made again from its messages: their hashes, in one pass."""

import hashlib
from typing import Any

from gateway.errors import BadImport
from gateway.storage.branches import Branch
from gateway.storage.sessions.copies import VersionCopy

MAX_RUNNING = 64
"""Different beginnings of versions that cover the same message. Versions that undo made rivals of each other
mostly begin at the same message, and share a hash."""

MAX_COPIES = 16
"""How many times the size of all messages the archives may be together: a small file must not fill a disk."""


VersionStart = tuple[int, int]
"""Versions that begin at the same message of the same branch."""


class CoveredRanges:
    """Expects versions, then takes the lines of all messages in order."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        """For each position at which a version begins, the offset that was given with its message."""
        self._beginning: dict[int, dict[int, Branch | None]] = {}
        self._ending: dict[int, list[VersionCopy]] = {}
        self._open: dict[VersionStart, int] = {}
        self._running: dict[VersionStart, tuple[Branch | None, Any]] = {}
        self._messages = 0
        self._archives = 0

    def expect(self, version: VersionCopy, branch: Branch | None) -> None:
        """A version of that branch, None: of the only one."""
        begun = version.from_position, version.branch
        self._beginning.setdefault(version.from_position, {})[version.branch] = branch
        self._open[begun] = self._open.get(begun, 0) + 1
        self._ending.setdefault(version.to_position, []).append(version)

    def take(self, position: int, line: bytes, at: int) -> None:
        """The line of an archive for the message at `position`, which is at the offset `at` of the file.

        Raises:
            BadImport: a version that ends here has another hash, or too many versions cover it.
        """
        self._messages += len(line)
        for number, branch in self._beginning.get(position, {}).items():
            self.places[position] = at
            self._running[position, number] = branch, hashlib.sha256()
        if len(self._running) > MAX_RUNNING:
            raise BadImport("Too many versions cover this message.")
        for begun, (branch, digest) in self._running.items():
            if branch is None or branch.has(position):
                digest.update(line)
                self._archives += len(line) * self._open[begun]
        for version in self._ending.pop(position, ()):
            begun = version.from_position, version.branch
            if self._running[begun][1].hexdigest() != version.sha256:
                raise BadImport(
                    f"The messages up to here are not those that version {version.version} archived."
                )
            self._open[begun] -= 1
            if not self._open[begun]:
                del self._running[begun]

    def finish(self) -> None:
        """Raises errors.BadImport when the archives would be out of proportion."""
        if self._archives > MAX_COPIES * self._messages:
            raise BadImport("The versions cover the same messages too often.")
