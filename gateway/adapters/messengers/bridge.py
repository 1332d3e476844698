"""Runs a messenger: what comes begins turns, and each thread's session is delivered to it."""

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from typing import Literal

import structlog

from gateway.adapters.messengers.base import (
    Account,
    Identify,
    Messenger,
    MessengerRefused,
    Place,
    Received,
    RemoteFile,
    Thread,
)
from gateway.adapters.messengers.followed_threads import MAX_FOLLOWED, FollowedThreads
from gateway.adapters.messengers.gone_sessions import GoneSessions
from gateway.adapters.messengers.journal import Journal
from gateway.adapters.messengers.thread_delivery import FIRST_PAUSE, LAST_PAUSE
from gateway.backlog import doubled
from gateway.client import AsyncGatewayClient
from gateway.errors import GatewayError, RequestRefused
from gateway.ids import new_session_id

MAX_FILE = 20_971_520
"""Bytes of a file that somebody sends: the default of GATEWAY_ARTIFACT_MAX_SIZE."""
ATTEMPTS = 5
"""Of what a person pressed; what they wrote is tried until it is accepted or refused."""
MAX_TURNS = 200
"""Turns of a person that have not begun, the newest first, among which that of a deleted question is."""
_NOT_FOUND = frozenset({"not_found", "session_not_found", "turn_not_found", "approval_not_found"})
_RATINGS: Mapping[str, Literal["up", "down", "none"]] = {"up": "up", "down": "down", "unrate": "none"}

log = structlog.get_logger(__name__)


class Bridge:
    """One messenger and one gateway. `run` until it is cancelled."""

    def __init__(self, messenger: Messenger, journal: Journal, identify: Identify, url: str) -> None:
        self._messenger = messenger
        self._journal = journal
        self._identify = identify
        self._url = url
        self._clients: dict[Account, AsyncGatewayClient] = {}
        self._working: dict[Place, asyncio.Task[None]] = {}
        self._followed = FollowedThreads(messenger, journal, self.client, self._fail)
        self._gone = GoneSessions(journal, self.client, self._followed.leave)
        self._failed: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Raises MessengerRefused."""
        self._failed = asyncio.get_running_loop().create_future()
        receiving = asyncio.create_task(self._messenger.receive(self._keep))
        for place in self._journal.waiting():
            self._work(place)
        for thread in reversed(self._journal.latest(MAX_FOLLOWED)):
            self._work(thread.place)
        looking = asyncio.create_task(self._followed.look())
        forgetting = asyncio.create_task(self._gone.look())
        try:
            done, _ = await asyncio.wait(
                (receiving, looking, forgetting, self._failed), return_when=asyncio.FIRST_COMPLETED
            )
            next(iter(done)).result()
        finally:
            tasks = [receiving, looking, forgetting, *self._working.values()]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self._followed.close()
            async with AsyncExitStack() as stack:
                for client in self._clients.values():
                    stack.push_async_callback(client.close)

    async def client(self, person: str) -> AsyncGatewayClient:
        """The gateway as that person has it. Raises errors.RequestRefused."""
        account = await self._identify(person)
        if account not in self._clients:
            self._clients[account] = AsyncGatewayClient(self._url, account.key, user=account.user)
        return self._clients[account]

    async def check(self, key: str) -> None:
        """Raises GatewayError: the gateway does not take that key, or does not answer."""
        if not key.isascii() or not key.isprintable():
            raise RequestRefused("That is no key.")
        async with AsyncGatewayClient(self._url, key) as client:
            await client.ask("GET", "/api/me")

    async def begin_anew(self, place: Place, person: str) -> Thread:
        """What is said there next is the first message of a new session. Raises errors.RequestRefused."""
        client, thread = await self.client(person), Thread(place, person, new_session_id())
        await client.create_session(id=thread.session_id, role_id=self._messenger.name)
        self._journal.begin(thread, 0)
        await self._follow(place)
        return thread

    def _keep(self, received: Received) -> bool:
        is_new = self._journal.keep(received)
        if is_new:
            self._work(received.place)
        return is_new

    def _work(self, place: Place) -> None:
        """Has somebody do what waits in that place, and follow it then."""
        known = self._working.get(place)
        if known is None or known.done():
            task = self._working[place] = asyncio.create_task(self._do_all(place))
            task.add_done_callback(lambda _: self._is_done(place))

    def _is_done(self, place: Place) -> None:
        if self._working[place].done():  # else another one works there by now
            del self._working[place]

    async def _do_all(self, place: Place) -> None:
        failures = 0
        try:
            while True:
                received = self._journal.next(place)
                try:
                    if received is None:
                        await self._follow(place)
                        if self._journal.next(place) is None:
                            return
                        continue
                    await self._do(received)
                except GatewayError as error:
                    failures += 1
                    is_open = received is None or received.act == "say" or failures < ATTEMPTS
                    if isinstance(error, MessengerRefused):
                        raise
                    if error.retryable and is_open:
                        await asyncio.sleep(doubled(FIRST_PAUSE, failures, LAST_PAUSE))
                        continue
                    if received is None:
                        log.warning("thread_not_followed", code=error.code, error=error.message)
                        return
                    await self._refuse(received, error)
                failures = 0
                self._journal.done(received)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, the program ends by it, not in silence
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    async def _refuse(self, received: Received, error: GatewayError) -> None:
        log.warning("message_refused", act=received.act, code=error.code, error=error.message)
        if received.act in {"up", "down", "unrate"}:
            return
        with suppress(GatewayError):
            await self._messenger.notify(received.place, received.person, error.message)

    async def _do(self, received: Received) -> None:
        client = await self.client(received.person)
        if received.act == "say":
            await self._say(received, client)
        elif received.act in {"approve", "deny"}:
            await self._decide(received, client)
        elif received.act == "stop":
            await self._stop(received, client)
        elif (found := self._journal.turn_of(received.channel, received.about)) is not None:
            turn_id, thread = found
            await client.give_feedback(thread.session_id, turn_id, _RATINGS[received.act])

    async def _say(self, received: Received, client: AsyncGatewayClient) -> None:
        thread, before = self._journal.thread(received.place), ""
        if thread is None:
            before = await self._messenger.before(received)
            thread = await self._begin(received, client)
        elif thread.person != received.person and await self.client(thread.person) is not client:
            raise RequestRefused("This thread is another person's. Begin one of your own.")
        await self._follow(received.place)
        files = [await self._keep_file(client, each) for each in received.files]
        attachments = [{"ref": each} for each in files]
        attachments += [{"name": "thread.md", "text": before}] if before else []
        given = {"client_message_id": received.id, "on_conflict": "queue", "attachments": attachments}
        try:
            await client.start_turn(thread.session_id, received.text, **given)
        except RequestRefused as error:
            if error.code not in _NOT_FOUND:
                raise
            thread = await self._begin(received, client, received.id)  # it was deleted
            await self._follow(received.place)
            await client.start_turn(thread.session_id, received.text, **given)

    async def _keep_file(self, client: AsyncGatewayClient, file: RemoteFile) -> str:
        """The reference of the artifact that has its content."""
        if file.size > MAX_FILE:
            raise RequestRefused(f"{file.name} is too large: a file may have {MAX_FILE} bytes.")
        content = await self._messenger.fetch(file)
        kept = await client.upload_artifact(content, name=file.name, mime=file.mime)
        return str(kept["ref"])

    async def _begin(self, received: Received, client: AsyncGatewayClient, salt: str = "") -> Thread:
        """The session of a place that has none. It is there already where the journal was lost: what was
        delivered then is in the messenger. One that is another user's, who may give sessions ids of their
        own, is not that of the place."""
        name, place = self._messenger.name, received.place
        thread = Thread(place, received.person, session_id(name, place, salt))
        cursor = 0
        try:
            await client.create_session(id=thread.session_id, role_id=name)
        except RequestRefused as error:
            if error.code != "conflict":
                raise
            try:
                head = (await client.session(thread.session_id))["head"]
            except RequestRefused as unknown:
                if unknown.code not in _NOT_FOUND:
                    raise
                return await self.begin_anew(place, received.person)
            last = await self._messenger.last_seq(thread)
            cursor = head if last is None else min(last, head)
        self._journal.begin(thread, cursor)
        return thread

    async def _decide(self, received: Received, client: AsyncGatewayClient) -> None:
        turn_id, _, call_id = received.about.partition(":")
        thread = self._journal.thread_of_turn(turn_id) or self._journal.thread(received.place)
        if thread is None:
            return
        try:
            await client.decide(
                thread.session_id, turn_id, call_id, "approve" if received.act == "approve" else "deny"
            )
        except RequestRefused as error:
            if error.code in _NOT_FOUND:
                raise RequestRefused("Only the person whose thread this is may decide.") from None
            raise

    async def _stop(self, received: Received, client: AsyncGatewayClient) -> None:
        """Of what is answered in a message, or asked by one, or of whatever runs in the thread."""
        if (found := self._journal.turn_of(received.channel, received.about)) is not None:
            turn_id, thread = found
            await client.cancel(thread.session_id, turn_id)
        elif (thread := self._journal.thread(received.place)) is not None:
            running = (await client.snapshot(thread.session_id)).get("open_turn")
            turns: list[Mapping[str, str]] = [running] if running else []
            if received.about:  # it may wait for the one that runs
                turns += (await client.turns(status="accepted", limit=MAX_TURNS))["turns"]
                turns = [each for each in turns if each.get("client_message_id") == received.about]
            for each in turns:
                await client.cancel(thread.session_id, each["turn_id"])

    async def _follow(self, place: Place) -> None:
        """Delivers what comes in the session of that place, if it has one."""
        if (thread := self._journal.thread(place)) is not None:
            await self._followed.follow(thread)


def session_id(messenger: str, place: Place, salt: str = "") -> str:
    """The same for the same place."""
    name = "\0".join((place.channel, place.thread, salt))
    return f"{messenger}_{hashlib.sha256(name.encode()).hexdigest()[:40]}"
