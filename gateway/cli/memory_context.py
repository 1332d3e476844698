"""The memory of one user for a command: its services, its viewer and its editor."""

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateway.cli.terminal import to_stderr
from gateway.errors import GatewayError, NotFound
from gateway.memory.households import households_of, housemates_of
from gateway.memory.services import MemoryServices
from gateway.settings import Settings, load_settings
from gateway.storage.memories import AllScopes, Scope, Viewer

if TYPE_CHECKING:
    from gateway.memory.editor import Editor
    from gateway.memory.memories import Memories


@dataclass(frozen=True, slots=True)
class OpenMemories:
    """The memories of one user, to be read. `viewer` is who looks, as in a MemoryContext."""

    memories: "Memories"
    viewer: Viewer
    all_scopes: AllScopes


@dataclass(frozen=True, slots=True)
class MemoryContext:
    """The memory for one user. `viewer` is who looks: the user with all that is theirs, or as the role or
    project sees it, where one was named; `editor` changes what is theirs."""

    settings: Settings
    services: MemoryServices
    editor: "Editor"
    viewer: Viewer

    @property
    def scope(self) -> Scope:
        return self.editor.scope

    @property
    def all_scopes(self) -> AllScopes:
        return AllScopes(self.scope.user_id, self.scope.households)

    async def erase(self, memory_id: str, version: int | None) -> None:
        """Takes its words out of the sessions as well, or tells why a gateway is left to do that. Raises as
        `Editor.erase`."""
        from gateway.wiring import open_storage

        async with AsyncExitStack() as stack:
            editor, why = self.editor, None
            if not self.settings.is_shared and self.settings.database_path.exists():
                try:
                    storage = await stack.enter_async_context(open_storage(self.settings))
                    editor = replace(editor, sessions=storage.sessions)
                except GatewayError as error:
                    why = error
            await editor.erase(memory_id, "Erased on the command line.", version=version)
        if self.settings.is_shared:
            to_stderr("A gateway takes these words out of the sessions too, within a minute of its running.")
        elif why is not None and why.code == "data_locked":
            to_stderr("A gateway is running: within a minute it takes these words out of the sessions too.")
        elif why is not None:
            to_stderr(f"! Its words are in the sessions until a gateway starts: {why}")


@asynccontextmanager
async def open_context(
    user: str, role: str | None, project: str | None, *, makes: bool = False
) -> AsyncGenerator[MemoryContext]:
    """The memory of the data folder or the server that the settings name; `makes` one where there is none.

    Raises:
        SettingsError: a setting is wrong.
        GatewayError: there is no memory in that folder, and none is made.
        StorageError: the memory cannot be opened.
        NotFound: what was looked for inside is not this user's; the message names them.
    """
    from gateway.memory.editor import Editor
    from gateway.telemetry.lines.logs import configure_logging
    from gateway.wiring import open_memory

    settings = load_settings()
    configure_logging("error")
    check_there(settings, makes=makes)
    scope, all_scopes, viewer = _scopes(settings, user, role, project)
    async with open_memory(settings) as services:
        editor = Editor(services.memories, scope, all_scopes, user, owners=housemates_of(settings, user))
        with _told_of(user):
            yield MemoryContext(settings, services, editor, viewer)


@asynccontextmanager
async def open_stored(user: str, role: str | None, project: str | None) -> AsyncGenerator[OpenMemories]:
    """The same, to be read alone; a third as much is loaded. Raises as `open_context`."""
    from gateway.wiring import open_stored_memories

    settings = load_settings()
    check_there(settings, makes=False)
    _, all_scopes, viewer = _scopes(settings, user, role, project)
    async with open_stored_memories(settings) as memories:
        with _told_of(user):
            yield OpenMemories(memories, viewer, all_scopes)


def _scopes(
    settings: Settings, user: str, role: str | None, project: str | None
) -> tuple[Scope, AllScopes, Viewer]:
    households = households_of(settings, user)
    scope, all_scopes = Scope(user, role, project, households=households), AllScopes(user, households)
    return scope, all_scopes, scope if role or project else all_scopes


@contextmanager
def _told_of(user: str) -> Generator[None]:
    try:
        yield
    except NotFound as error:
        whose = f"Looked for among those of user {user}: --user NAME takes another's."
        raise NotFound(f"{error.message} {whose}", code=error.code) from None


def check_there(settings: Settings, *, makes: bool) -> None:
    """Tells that a memory is made where there is none yet; raises GatewayError where none shall be. On
    a server it was made by `gateway migrate`."""
    if settings.is_shared or settings.memory_path.exists():
        return
    folder = settings.memory_path.parent.absolute()
    if not makes:
        raise GatewayError(f"There is no memory in {folder} yet: start the gateway, or set GATEWAY_DATA_DIR.")
    to_stderr(f"There was no memory in {folder}: a new one is made. GATEWAY_DATA_DIR names another folder.")
