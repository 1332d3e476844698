"""The memory on a person's desk: what commands work with, and what they change."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gateway.memory.corrections import Action
from gateway.memory.memories import By, Changed
from gateway.memory.record import NewMemory
from gateway.memory.room import MemoryRoom, households_of
from gateway.settings import load_settings
from gateway.storage.memories import Scope, Viewer, Whole
from gateway.telemetry.logs import configure_logging
from gateway.wiring import open_memory


@dataclass(frozen=True, slots=True)
class Desk:
    """The memory for one user. `viewer` is who looks: the user with all that is theirs, or as the role or
    project sees it, where one was named. Every change raises what `Memories` and `Corrections` raise."""

    room: MemoryRoom
    scope: Scope
    viewer: Viewer

    async def save(self, new: NewMemory) -> Sequence[Changed]:
        return [await self.room.memories.save(self.scope, new, self._by("Saved"))]

    async def edit(self, memory_id: str, given: dict[str, Any], version: int | None) -> Sequence[Changed]:
        by = self._by("Edited")
        return [await self.room.memories.update(self.viewer, memory_id, given, by, version=version)]

    async def delete(self, memory_id: str, version: int | None) -> Sequence[Changed]:
        return [await self.room.memories.delete(self.viewer, memory_id, self._by("Deleted"), version=version)]

    async def confirm(self, memory_id: str) -> Sequence[Changed]:
        return [await self.room.memories.confirm(self.viewer, memory_id, self._by("Confirmed"))]

    async def correct(self, memory_id: str, action: Action, new_content: str | None) -> Sequence[Changed]:
        return await self.room.corrections.correct(
            self.viewer, memory_id, action, self._by("Corrected"), new_content=new_content
        )

    async def merge(self, memory_ids: Sequence[str]) -> Sequence[Changed]:
        return await self.room.corrections.merge(self.viewer, memory_ids, self._by("Merged"))

    @property
    def whole(self) -> Whole:
        return Whole(self.scope.user_id, self.scope.households)

    def _by(self, what: str) -> By:
        return By(self.scope.user_id, f"{what} on the command line.")


@asynccontextmanager
async def open_desk(user: str, role: str | None, project: str | None) -> AsyncGenerator[Desk]:
    """The memory of the data folder that the settings name.

    Raises:
        SettingsError: a setting is wrong.
        StorageError: the memory cannot be opened.
    """
    settings = load_settings()
    configure_logging("error")
    households = households_of(settings, user)
    scope = Scope(user, role, project, households=households)
    viewer = scope if role or project else Whole(user, households)
    async with open_memory(settings) as room:
        yield Desk(room, scope, viewer)
