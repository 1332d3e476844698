"""Persons are erased: everything of a user, wherever it is.

    asked for ──▶ refused everywhere ──▶ counted ──▶ keys, sign-ins, schedules, webhooks ──▶ turns end
      ──▶ artifacts, sessions, memories, the rest ──▶ a pseudonym in the audit ──▶ nothing names them?
      ──▶ bytes are overwritten ──▶ report

Each step removes what it finds, so that an erasure that was broken off at any moment goes on from the first
one; what is counted, before anything is removed, is stored once. Only who is the leader erases.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.auth import Principal
from gateway.errors import Conflict, GatewayError, NotFound, StorageError, TurnInProgress
from gateway.history.archive import FOLDER, folder_of
from gateway.ids import now_ms
from gateway.memory.households import households_of
from gateway.service.audit import AuditRecorder
from gateway.service.dependencies import Dependencies
from gateway.service.erasure_report import what_stays
from gateway.service.gateway import Gateway
from gateway.service.projects import forget_project_memories
from gateway.service.purge_worker import PurgeWorker
from gateway.service.session_removal import remove_session
from gateway.service.users_being_erased import BeingErased
from gateway.storage.artifacts import owner_folder
from gateway.storage.audit import ERASED, AuditEntry, AuditLog
from gateway.storage.persons import Erasure, Kept, PersonErasures, Persons
from gateway.storage.projects import Projects
from gateway.storage.replica_signals import Signal
from gateway.storage.sessions.purges import Purges

UNKNOWN_FOR = 6.0
"""Seconds for which other replicas may let somebody in who is to be erased: keys and sign-ins are looked up
again after five."""
UNKNOWN_EVERY = 30.0
"""Seconds after which erasures are looked for of which this process was not told."""
RETRY = 15.0
"""Seconds until another attempt after a failure."""
TURNS_END = 60.0
"""Seconds for which an attempt waits for turns that were cancelled."""
TURN_PAUSE = 0.2
SLICE = 100
"""Rows of one transaction, and artifacts or sessions that are read at a time."""
CANDIDATES = 10_000
PASSES = 5
"""How often an attempt goes through all steps: something may have been under way."""
log = structlog.get_logger(__name__)


class NotYet(Exception):
    """An erasure waits for something, and is tried again."""


def pseudonym_of(erasure_id: str, user_id: str) -> str:
    """What takes the place of a person. Who knows both can tell it again; the id of the erasure alone says
    nothing."""
    return ERASED + hashlib.sha256(f"{erasure_id} {user_id}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Erasing:
    """What the eraser works on."""

    deps: Dependencies
    gateway: Gateway
    persons: Persons
    erasures: PersonErasures
    projects: Projects
    purges: Purges
    audit: AuditLog
    recorder: AuditRecorder
    artifact_store: ArtifactStore
    scrub: Callable[[], Awaitable[None]]


class PersonEraser:
    """Of all processes the leader's works."""

    def __init__(self, parts: Erasing, being_erased: BeingErased) -> None:
        self._parts = parts
        self._being_erased = being_erased
        self._started = set[str]()
        self._folders = set[str]()

    async def run(self) -> None:
        """Erases who is to be erased, until it is cancelled."""
        while True:
            pause = UNKNOWN_EVERY
            try:
                for erasure in await self._parts.erasures.unfinished():
                    if not await self.attempt(erasure):
                        pause = RETRY
            except StorageError as error:
                log.warning("erasure_failed", code=error.code, error=str(error))
                pause = RETRY
            self._being_erased.changed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._being_erased.changed.wait(), pause)

    async def attempt(self, erasure: Erasure) -> bool:
        """Whether it is done. What keeps it from that is stored with it. Raises errors.StorageError: not even
        that could be."""
        try:
            await self._erase(erasure)
        except Conflict as error:
            if error.code != "legal_hold":
                return await self._waits(erasure, error.message)
            await self._waits(erasure, "A legal hold: it goes on when that is lifted.", held=True)
            return True  # looked at again with the others
        except (NotYet, GatewayError) as error:
            return await self._waits(erasure, str(error))
        except Exception:  # a mistake of ours: others are erased all the same
            log.exception("erasure_failed", erasure_id=erasure.id)
            return await self._waits(erasure, "The server made a mistake: its log has it.")
        self._folders.clear()
        return True

    async def _waits(self, erasure: Erasure, why: str, *, held: bool = False) -> bool:
        now = await self._parts.erasures.of(erasure.person, pseudonym_of(erasure.id, erasure.person))
        if now is not None and (now.waits_for, now.state == "held") != (why, held):
            log.warning("erasure_waits", erasure_id=erasure.id, step=now.step, reason=why)
            state = "held" if held else now.state if now.state != "held" else "requested"
            await self._parts.erasures.put(replace(now, waits_for=why, state=state))
        return False

    async def _erase(self, erasure: Erasure) -> None:
        if not erasure.person.startswith(ERASED):
            erasure = await self._remove(erasure)
        await self._parts.scrub()
        done = replace(erasure, state="done", step="done", waits_for=None, finished_at=now_ms())
        await self._being_erased.look()  # who is told that it is done may ask again
        if await self._parts.erasures.put(done):
            await self._parts.recorder.record(_entry(done), now=True)
            log.info("person_erased", erasure_id=done.id, pseudonym=done.person)

    async def _remove(self, erasure: Erasure) -> Erasure:
        """All but the bytes; the erasure as it is stored then."""
        parts, user_id = self._parts, erasure.person
        await parts.deps.holds.check(user_id)
        if parts.deps.settings.is_shared and now_ms() - erasure.requested_at < UNKNOWN_FOR * 1000:
            await asyncio.sleep(UNKNOWN_FOR)
        erasure = await self._begin(erasure)
        pseudonym = pseudonym_of(erasure.id, user_id)
        left: Mapping[str, int] = {}
        for _ in range(PASSES):
            for step, work in (
                ("keys", self._end_keys),
                ("turns", self._end_turns),
                ("artifacts", self._artifacts),
                ("sessions", self._sessions),
                ("rows", self._rows),
                ("blobs", self._blobs),
            ):
                erasure = await self._step(erasure, step)
                await work(user_id)
            if parts.deps.memory is not None:
                erasure = await self._step(erasure, "memories")
                await parts.deps.memory.store.erase_person(user_id, pseudonym, self._kept_households(user_id))
            erasure = await self._step(erasure, "audit")
            renamed = await self._pseudonymise(user_id, pseudonym)
            in_others = (await parts.persons.counts(pseudonym)).get("turns", 0)
            erasure = replace(erasure, kept=self._stays(erasure, renamed, in_others))
            left = await self._left(user_id)
            if not left:
                break
        else:
            raise NotYet(f"Something is written of this user still: {', '.join(sorted(left))}.")
        if erasure.requested_by == user_id:
            erasure = replace(erasure, requested_by=pseudonym)
        return await self._step(replace(erasure, person=pseudonym), "bytes")

    async def _begin(self, erasure: Erasure) -> Erasure:
        if erasure.found is None:
            erasure = replace(erasure, found=await self.found(erasure.person))
        if erasure.id not in self._started:
            self._started.add(erasure.id)
            erasure = replace(erasure, starts=erasure.starts + 1)
        return await self._step(replace(erasure, state="running", waits_for=None), erasure.step)

    async def found(self, user_id: str) -> Mapping[str, int]:
        """How much there is of a user, by kind."""
        found = dict(await self._parts.persons.counts(user_id))
        if self._parts.deps.memory is not None:
            store = self._parts.deps.memory.store
            found |= await store.counts(user_id, self._kept_households(user_id))
        return found

    async def _step(self, erasure: Erasure, step: str) -> Erasure:
        erasure = replace(erasure, step=step)
        await self._parts.erasures.put(erasure)
        return erasure

    async def _end_keys(self, user_id: str) -> None:
        """Nothing new comes from them, or for them, from then on."""
        for table in (
            "api_keys",
            "provider_keys",
            "sign_ins",
            "schedule_runs",
            "schedules",
            "webhook_deliveries",
            "webhooks",
        ):
            await self._table(table, user_id)
        await self._parts.deps.turns.notify(Signal("revoked", user_id))

    async def _end_turns(self, user_id: str) -> None:
        parts = self._parts
        async with asyncio.timeout(TURNS_END):
            try:
                while open_turns := await parts.deps.turns.unfinished(user_id, SLICE):
                    with suppress(NotFound):
                        await parts.gateway.turns.stop(open_turns)
                    await asyncio.sleep(TURN_PAUSE)
            except TimeoutError:
                raise NotYet("Turns that were cancelled have not ended yet.") from None

    async def _artifacts(self, user_id: str) -> None:
        while found := await self._parts.deps.artifacts.find(user_id, limit=SLICE):
            for each in found:
                with suppress(NotFound):
                    await self._parts.artifact_store.delete(user_id, each.ref)

    async def _sessions(self, user_id: str) -> None:
        deps = self._parts.deps
        while found := await deps.sessions.list(user_id, limit=SLICE, temporary=True):
            for each in found:
                self._folders.add(folder_of(each.id))
                try:
                    await remove_session(deps, each.id, user_id, most_cleared=CANDIDATES)
                except NotFound:
                    continue
                except TurnInProgress as error:  # perhaps that of another member of their project
                    turn_id = str((error.details or {}).get("turn_id"))
                    with suppress(NotFound):
                        await self._parts.gateway.turns.cancel(Principal(user_id), each.id, turn_id)
                    await asyncio.sleep(TURN_PAUSE)
        await PurgeWorker(self._parts.purges).finish()

    async def _rows(self, user_id: str) -> None:
        for project, _ in await self._parts.projects.list(user_id):
            if len(await self._parts.projects.members(project.id, user_id)) == 1:  # it goes with them
                await forget_project_memories(self._parts.deps, project.id)
            await self._parts.gateway.turns.stop(await self._parts.projects.erase_member(project.id, user_id))
        for table in self._parts.persons.removed:
            await self._table(table, user_id)

    async def _table(self, table: str, user_id: str) -> None:
        while await self._parts.persons.remove(table, user_id, SLICE) == SLICE:
            pass

    async def _blobs(self, user_id: str) -> None:
        """Contents that lost their row when a process was killed, or could not be removed then. Of sessions
        that a former process removed nobody knows the folder any more: all that are candidates now go; who is
        just writing an archive writes it again."""
        deps, now = self._parts.deps, now_ms()
        places = (owner_folder(user_id), *(f"{folder}/" for folder in self._folders))
        if (erasure := await self._parts.erasures.of(user_id)) is not None and erasure.starts > 1:
            places = (*places, f"{FOLDER}/")
        found = await deps.orphans.candidates(now + 1, CANDIDATES)
        theirs = [path for path in found if path.startswith(places)]
        await self._parts.artifact_store.clear(theirs, now + 1)
        left = set(await deps.orphans.candidates(now + 1, CANDIDATES)) & set(theirs)
        if left:
            raise NotYet(f"{len(left)} contents cannot be removed from the blob store yet.")

    def _stays(self, erasure: Erasure, renamed: int, in_others: int) -> Sequence[Kept]:
        deps = self._parts.deps
        return what_stays(
            erasure.found or {},
            renamed=renamed,
            in_others=in_others,
            has_memory=deps.memory is not None,
            has_server=deps.settings.is_shared,
        )

    async def _pseudonymise(self, user_id: str, pseudonym: str) -> int:
        await self._parts.recorder.flush()
        await self._parts.persons.rename(user_id, pseudonym)
        await self._parts.audit.pseudonymise(user_id, pseudonym)
        return await self._parts.audit.count(pseudonym)

    async def _left(self, user_id: str) -> Mapping[str, int]:
        left = dict(await self._parts.persons.named(user_id))
        if self._parts.deps.memory is not None:
            left |= await self._parts.deps.memory.store.named(user_id)
        # Their own request is renamed with the last step.
        left.pop("person_erasures.requested_by", None)
        return left

    def _kept_households(self, user_id: str) -> frozenset[str]:
        """Those with other members."""
        settings = self._parts.deps.settings
        shared = households_of(settings, user_id)
        return frozenset(name for name in shared if set(settings.households[name]) - {user_id})


def _entry(erasure: Erasure) -> AuditEntry:
    return AuditEntry(
        now_ms(),
        erasure.tenant,
        "gateway:erasure",
        None,
        None,
        "person.erased",
        "person",
        erasure.person,
        "done",
        None,
    )
