"""The archives of a session's versions, made again from its messages: their hashes, in one pass."""

import hashlib
from typing import Any

from gateway.errors import BadImport
from gateway.storage.sessions.copies import VersionCopy

MAX_RUNNING = 64
"""Different beginnings of versions that cover the same message. Versions that undo made rivals of each other
mostly begin at the same message, and share a hash."""

MAX_COPIES = 16
"""How many times the size of all messages the archives may be together: a small file must not fill a disk."""


class CoveredRanges:
    """Expects versions, then takes the lines of all messages in order."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        """For each position at which a version begins, the offset that was given with its message."""
        self._beginning: set[int] = set()
        self._ending: dict[int, list[VersionCopy]] = {}
        self._open: dict[int, int] = {}
        self._running: dict[int, Any] = {}
        self._messages = 0
        self._archives = 0

    def expect(self, version: VersionCopy) -> None:
        self._beginning.add(version.from_position)
        self._open[version.from_position] = self._open.get(version.from_position, 0) + 1
        self._ending.setdefault(version.to_position, []).append(version)

    def take(self, position: int, line: bytes, at: int) -> None:
        """The line of an archive for the message at `position`, which is at the offset `at` of the file.

        Raises:
            BadImport: a version that ends here has another hash, or too many versions cover it.
        """
        self._messages += len(line)
        if position in self._beginning:
            self.places[position] = at
            self._running[position] = hashlib.sha256()
        if len(self._running) > MAX_RUNNING:
            raise BadImport("Too many versions cover this message.")
        for first, digest in self._running.items():
            digest.update(line)
            self._archives += len(line) * self._open[first]
        for version in self._ending.pop(position, ()):
            if self._running[version.from_position].hexdigest() != version.sha256:
                raise BadImport(
                    f"The messages up to here are not those that version {version.version} archived."
                )
            self._open[version.from_position] -= 1
            if not self._open[version.from_position]:
                del self._running[version.from_position]

    def finish(self) -> None:
        """Raises errors.BadImport when the archives would be out of proportion."""
        if self._archives > MAX_COPIES * self._messages:
            raise BadImport("The versions cover the same messages too often.")
