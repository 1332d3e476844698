"""The memory on a person's desk: what commands work with, and what they change."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gateway.cli.catalog import tell
from gateway.errors import GatewayError, NotFound
from gateway.memory.corrections.corrections import Action
from gateway.memory.memories import By, Changed
from gateway.memory.record import NewMemory
from gateway.memory.room import MemoryRoom, households_of
from gateway.settings import Settings, load_settings
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

    async def save(self, new: NewMemory, depends_on: Sequence[str]) -> Sequence[Changed]:
        by = self._by("Saved")
        return [await self.room.memories.save(self.scope, new, by, viewer=self.whole, depends_on=depends_on)]

    async def edit(self, memory_id: str, given: dict[str, Any], version: int | None) -> Sequence[Changed]:
        by = self._by("Edited")
        return [await self.room.memories.update(self.viewer, memory_id, given, by, version=version)]

    async def delete(self, memory_id: str, version: int | None) -> Sequence[Changed]:
        return [await self.room.memories.delete(self.viewer, memory_id, self._by("Deleted"), version=version)]

    async def erase(self, memory_id: str, version: int | None) -> None:
        await self.room.memories.erase(self.viewer, memory_id, self._by("Erased"), version=version)

    async def confirm(self, memory_id: str, version: int | None) -> Sequence[Changed]:
        by = self._by("Confirmed")
        return [await self.room.memories.confirm(self.viewer, memory_id, by, version=version)]

    async def correct(
        self, memory_id: str, action: Action, new_content: str | None, version: int | None
    ) -> Sequence[Changed]:
        by = self._by("Corrected")
        return await self.room.corrections.correct(
            self.viewer, memory_id, action, by, new_content=new_content, version=version
        )

    async def merge(self, memory_ids: Sequence[str]) -> Sequence[Changed]:
        return await self.room.corrections.merge(self.viewer, memory_ids, self._by("Merged"))

    @property
    def whole(self) -> Whole:
        return Whole(self.scope.user_id, self.scope.households)

    def _by(self, what: str) -> By:
        return By(self.scope.user_id, f"{what} on the command line.")


@asynccontextmanager
async def open_desk(
    user: str, role: str | None, project: str | None, *, makes: bool = False
) -> AsyncGenerator[Desk]:
    """The memory of the data folder that the settings name; `makes` one where there is none.

    Raises:
        SettingsError: a setting is wrong.
        GatewayError: there is no memory in that folder, and none is made.
        StorageError: the memory cannot be opened.
        NotFound: what was looked for inside is not this user's; the message names them.
    """
    settings = load_settings()
    configure_logging("error")
    check_there(settings, makes=makes)
    households = households_of(settings, user)
    scope = Scope(user, role, project, households=households)
    viewer = scope if role or project else Whole(user, households)
    async with open_memory(settings) as room:
        try:
            yield Desk(room, scope, viewer)
        except NotFound as error:
            whose = f"Looked for among those of user {user}: --user NAME takes another's."
            raise NotFound(f"{error.message} {whose}", code=error.code) from None


def check_there(settings: Settings, *, makes: bool) -> None:
    """Tells that a memory is made where there is none yet; raises GatewayError where none shall be."""
    if settings.memory_path.exists():
        return
    folder = settings.memory_path.parent.absolute()
    if not makes:
        raise GatewayError(f"There is no memory in {folder} yet: start the gateway, or set GATEWAY_DATA_DIR.")
    tell(f"There was no memory in {folder}: a new one is made. GATEWAY_DATA_DIR names another folder.")
