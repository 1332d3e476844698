"""The skills of a running gateway: found, named, switched, listed, and looked at again while it runs."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import structlog

from gateway.errors import Conflict, NotFound
from gateway.files.polling import poll
from gateway.files.replacement import replacing
from gateway.ids import now_ms
from gateway.skills.catalog import Catalog, build_catalog
from gateway.skills.definition import Tier
from gateway.skills.folders import FoundSkills, SkillFolders
from gateway.skills.read_skill import read_skill
from gateway.skills.skill import BUILT_IN, READ_SKILL, CatalogSkill, FunctionSkill, ServerTool
from gateway.storage.decisions import SkillSwitches

SNAPSHOT_NAME = "SKILLS_SNAPSHOT.md"

log = structlog.get_logger(__name__)


class SkillLibrary:
    """Belongs to one event loop; only `changed` may be called from elsewhere.

    `functions` are the built-in ones first, without read_skill, which is added here. `server_tools` gives the
    tools that MCP servers offer now: the same objects as long as nothing changed. `share_tokens` bounds the
    snapshot, which is written to `snapshot_path` unless that is None.
    """

    def __init__(
        self,
        *,
        folders: Mapping[Tier, Path | None],
        functions: Sequence[FunctionSkill],
        server_tools: Callable[[], Sequence[ServerTool]],
        switches: SkillSwitches,
        share_tokens: int,
        snapshot_path: Path | None,
    ) -> None:
        reading = read_skill(lambda: self.catalog)
        self._functions = (FunctionSkill(reading, BUILT_IN, READ_SKILL), *functions)
        self._folders = SkillFolders(folders)
        self._server_tools = server_tools
        self._switches = switches
        self._share_tokens = share_tokens
        self._snapshot_path = snapshot_path
        self.catalog: Catalog = build_catalog(self._functions, (), (), (), share_tokens=share_tokens)
        """As of the last look; only functions before the first one."""
        self._made_of: tuple[FoundSkills, tuple[ServerTool, ...], frozenset[str]] | None = None
        self._in_turn, self._looking = asyncio.Lock(), threading.Lock()
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._write_failed = False

    async def refresh(self) -> Catalog:
        """Looks again. The same object as before when nothing has changed.

        Raises:
            StorageError: the switches cannot be read.
        """
        async with self._in_turn:
            disabled = await self._switches.disabled()
            server_tools = tuple(self._server_tools())
            await asyncio.to_thread(self._look, server_tools, disabled)
            return self.catalog

    async def switch(self, name: str, *, enabled: bool, by: str) -> CatalogSkill:
        """Enables or disables a skill for good, by its name in the catalog of now; a written one keeps its
        switch when another comes or goes and it is called otherwise.

        Raises:
            NotFound: there is no such skill (code skill_not_found).
            Conflict: it is read_skill, which is on as long as there is something to read.
            StorageError: it cannot be stored.
        """
        skill = self._known(name)
        if name == READ_SKILL and not enabled and self.catalog.written:
            raise Conflict(
                f"{READ_SKILL} is needed as long as a written skill is on: switch those off first."
            )
        await self._switches.switch(skill.switched_as, enabled=enabled, by=by, at=now_ms())
        await self.refresh()
        return self._known(name)

    async def watch(self) -> None:
        """Looks again for ever, each time `changed` is called and as `files.polling.poll` does."""
        self._loop = asyncio.get_running_loop()
        await poll(self.refresh, "skills_not_refreshed", self._wake)

    def changed(self) -> None:
        """Has `watch` look at once, after a known change. From any thread, at any time."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: there is no watcher any more
                self._loop.call_soon_threadsafe(self._wake.set)

    def _known(self, name: str) -> CatalogSkill:
        skill = self.catalog.find(name)
        if skill is None:
            raise NotFound(f"There is no skill {name[:100]}.", code="skill_not_found")
        return skill

    def _look(self, server_tools: tuple[ServerTool, ...], disabled: frozenset[str]) -> None:
        """In a thread, since it reads files. One whose caller was cancelled goes on, beside the next one."""
        with self._looking:
            found = self._folders.scan()
            made_of = (found, server_tools, disabled)
            if made_of != self._made_of:
                former = self.catalog
                self.catalog = build_catalog(
                    self._functions,
                    found.skills,
                    server_tools,
                    disabled,
                    share_tokens=self._share_tokens,
                    warnings=found.warnings,
                )
                self._made_of = made_of
                for warning in self.catalog.warnings:
                    if warning not in former.warnings:
                        log.warning("skill_warning", told=warning)
            self._write(self.catalog.snapshot)

    def _write(self, text: str) -> None:
        """Writes it whole or not at all, and only when the file is missing or has another content."""
        path, content = self._snapshot_path, text.encode()
        if path is None:
            return
        try:
            if path.is_file() and path.read_bytes() == content:
                return
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(content)
            self._write_failed = False
        except OSError as error:
            if not self._write_failed:
                log.warning("skills_snapshot_not_written", error=error.strerror)
            self._write_failed = True
