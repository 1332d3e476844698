"""What is erased, or belonged to a session that was deleted, is told nowhere any more."""

import asyncio
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway.memory.tool import unavailable_memory_tool
from gateway.service.archiver import Archiver
from gateway.service.upkeep import Upkeep
from tests.harness import Client, running_gateway
from tests.loopback import TIMEOUT
from tests.postgres import on_both_engines
from tests.product import AllScopes, Settings, StorageError
from tests.record import reading
from tests.running import run
from tests.stories.asking import Outbox, ask, parked
from tests.stories.test_memory import prompt_of, settings_with
from tests.stories.test_recall import model_view, remember, warnings

pytestmark = pytest.mark.anyio


async def erase(user: Client, memory_id: str) -> None:
    assert (await user.http.post(f"/api/memory/{memory_id}/erase")).status_code == 204


def kept_words(place: Path | str) -> str:
    """All that the sessions and their messages hold, in a folder or a database on a server."""
    with reading(place / "gateway.db" if isinstance(place, Path) else place) as database:
        told = [*database.execute("SELECT told_memories FROM sessions")]
        return str([*told, *database.execute("SELECT content FROM messages")])


@on_both_engines
async def test_what_is_erased_leaves_the_sessions_that_were_told_it(settings: Settings) -> None:
    """Their prompts and what was recalled in them, at once; the next turn goes on without it, and says so."""
    place = settings.database_url or settings.data_dir
    async with running_gateway(settings) as user:
        standing = await remember(user, "allergic to walnuts")
        await user.chat("hello", session_id="s")
        recalled = await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        await user.chat("我们上次决定用什么?\n/say 好", session_id="s")
        assert "walnuts" in kept_words(place)
        assert "PostgreSQL" in await model_view(user, "s")

        await erase(user, recalled)
        assert "PostgreSQL" not in kept_words(place) + await model_view(user, "s")
        assert warnings(await user.chat("hi", session_id="s")) == ["memory_changed"]
        assert "walnuts" in await prompt_of(user, session_id="s")
        await erase(user, standing)
        assert "walnuts" not in kept_words(place)
        assert warnings(await user.chat("hi", session_id="s")) == ["memory_changed"]
        assert "walnuts" not in await prompt_of(user, session_id="s")
        assert warnings(await user.chat("hi", session_id="s")) == []


async def erase_by_command(folder: Path, memory_id: str) -> subprocess.CompletedProcess[str]:
    """`gateway memory erase`, in a process of its own."""
    arguments = ("memory", "erase", memory_id, "--yes")
    return await asyncio.to_thread(run, folder, *arguments, GATEWAY_DATA_DIR=str(folder))


async def test_a_command_takes_what_it_erases_out_of_the_sessions(tmp_path: Path, demo_url: str) -> None:
    """Where no gateway runs, the command does it at once."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        standing = await remember(user, "allergic to walnuts")
        await user.chat("hello", session_id="s")
    assert "walnuts" in kept_words(tmp_path)

    erased = await erase_by_command(tmp_path, standing)

    assert (erased.returncode, erased.stdout, erased.stderr) == (0, f"{standing} is erased.\n", "")
    assert "walnuts" not in kept_words(tmp_path)


async def test_what_a_command_erases_while_a_gateway_runs_that_takes_out_of_its_sessions(
    tmp_path: Path, demo_url: str
) -> None:
    """The command says that it is left to the gateway, whose upkeep does it."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        standing = await remember(user, "allergic to walnuts")
        await user.chat("hello", session_id="s")

        erased = await erase_by_command(tmp_path, standing)
        assert erased.returncode == 0
        assert "A gateway is running" in erased.stderr
        parts = user.app.state.deps
        await Upkeep(parts, Archiver(parts)).look()

        assert "walnuts" not in kept_words(tmp_path)
        assert await parts.memory.store.erasures(limit=9) == []


@pytest.mark.parametrize("failure", [StorageError("for now"), ValueError("a bug of ours")])
async def test_sessions_that_cannot_be_written_lose_the_words_later(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    """The answer says that they are still there, whatever failed; the memory itself is gone."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        standing = await remember(user, "allergic to walnuts")
        await user.chat("hello", session_id="s")
        parts = user.app.state.deps

        async def fail(*_: Any) -> None:
            raise failure

        with monkeypatch.context() as failing:
            failing.setattr(parts.sessions, "forget_memory", fail)
            refused = await user.http.post(f"/api/memory/{standing}/erase")
        assert refused.status_code == 503
        assert "still in sessions" in refused.json()["error"]["message"]
        assert "a bug" not in refused.text
        assert (await user.get(f"/api/memory/{standing}")).status_code == 404
        assert "walnuts" in kept_words(tmp_path)
        await Upkeep(parts, Archiver(parts)).look()

        assert "walnuts" not in kept_words(tmp_path)


OTHERS = [f"another-{number:03}" for number in range(120)]
"""Users whose sessions cannot be written; in the order of erasures they come before `local`."""


async def erased_for_others(user: Client, memory_id: str, *owners: str) -> None:
    """Erases it as a command beside the gateway does, for OTHERS and these owners, which is left to the
    gateway."""
    store = user.app.state.deps.memory.store
    assert await store.erase(AllScopes("local"), memory_id, owners=[*OTHERS, *owners])


def failing_for_others(monkeypatch: pytest.MonkeyPatch, user: Client) -> None:
    sessions = user.app.state.deps.sessions
    forget = sessions.forget_memory

    async def fail_for_others(owner: str, memory_id: str) -> None:
        if owner in OTHERS:
            raise StorageError(f"not for {owner}")
        await forget(owner, memory_id)

    monkeypatch.setattr(sessions, "forget_memory", fail_for_others)


async def test_an_erasure_takes_its_own_words_out_and_tells_of_its_own_failure_only(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of others wait, and fail."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await erased_for_others(user, await remember(user, "likes tea"))
        failing_for_others(monkeypatch, user)
        standing = await remember(user, "allergic to walnuts")
        await user.chat("hello", session_id="s")

        await erase(user, standing)

        assert "walnuts" not in kept_words(tmp_path)


async def test_erasures_that_fail_do_not_hide_those_after_them(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upkeep tries all that wait; those that failed go on waiting."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        standing = await remember(user, "allergic to walnuts")
        await user.chat("hello", session_id="s")
        await erased_for_others(user, standing, "local")
        failing_for_others(monkeypatch, user)
        parts = user.app.state.deps

        await Upkeep(parts, Archiver(parts)).look()

        assert "walnuts" not in kept_words(tmp_path)
        assert await parts.memory.store.erasures(limit=200) == [(standing, owner) for owner in OTHERS]


@pytest.mark.parametrize(
    ("reads", "session_id"), [("load_snapshot", "new"), ("changes", "s"), ("retrieve", "s")]
)
async def test_a_turn_that_read_a_memory_before_its_erasure_leaves_no_words_of_it(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch, reads: str, session_id: str
) -> None:
    """It writes them, into its prompt or beside its message, after they were taken out: when it is over they
    are taken out again."""
    tokens = 0 if reads == "retrieve" else 6000  # what stands in the prompt is not looked up
    async with running_gateway(settings_with(tmp_path, demo_url, memory_prompt_tokens=tokens)) as user:
        parts = user.app.state.deps
        upkeep = Upkeep(parts, Archiver(parts))
        if reads == "changes":
            await remember(user, "likes tea")
            await user.chat("hello", session_id="s")
        memory_id = await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")
        if reads == "retrieve":
            await user.chat("hello", session_id="s")
        read, has_read, is_erased = getattr(parts.memory.recall, reads), asyncio.Event(), asyncio.Event()

        async def read_and_wait(*given: Any, **options: Any) -> Any:
            found = await read(*given, **options)
            has_read.set()
            await asyncio.wait_for(is_erased.wait(), TIMEOUT)
            return found

        monkeypatch.setattr(parts.memory.recall, reads, read_and_wait)
        turn = asyncio.create_task(user.chat("我们上次决定用什么?\n/say 好", session_id=session_id))
        await asyncio.wait_for(has_read.wait(), TIMEOUT)
        await erase(user, memory_id)
        await upkeep.look()
        with monkeypatch.context() as looking:
            looking.setattr(parts.sessions, "forget_memory", pytest.fail)
            await upkeep.look()  # waits for the turn, and searches nothing meanwhile
        is_erased.set()
        await turn
        assert "PostgreSQL" in kept_words(tmp_path)

        await upkeep.look()

        assert "PostgreSQL" not in kept_words(tmp_path)
        assert await parts.memory.store.erasures(limit=9) == []


async def test_the_record_of_a_session_keeps_what_was_erased(tmp_path: Path, demo_url: str) -> None:
    """Its events tell what was retrieved, in an archive too; the files of the memory have no byte of it."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        standing = await remember(user, "allergic to walnuts")
        said = await user.chat("hello", session_id="s")
        assert "walnuts" in str(said)
        assert (await user.post("/api/sessions/s/archive")).status_code == 200

        await erase(user, standing)

        assert await user.events("s") == said
        assert not any(b"walnut" in file.read_bytes() for file in tmp_path.glob("memory.db*"))


async def test_what_is_erased_after_a_turn_was_accepted_is_not_told_to_it(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history that was read with its acceptance still has it, in the prompt and beside a message."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        recall = user.app.state.deps.memory.recall
        memory_ids = [await remember(user, "allergic to walnuts")]
        await user.chat("hello", session_id="s")
        memory_ids += [await remember(user, "我们决定用 PostgreSQL 做数据库", type="project_decision")]
        await user.chat("我们上次决定用什么?\n/say 好", session_id="s")
        revalidate = recall.revalidate

        async def erase_and_revalidate(*given: Any) -> Any:
            for memory_id in memory_ids:
                await erase(user, memory_id)
            return await revalidate(*given)

        monkeypatch.setattr(recall, "revalidate", erase_and_revalidate)
        assert warnings(await user.chat("hi", session_id="s")) == ["memory_changed"]
        monkeypatch.undo()

        told = kept_words(tmp_path) + await prompt_of(user, session_id="s") + await model_view(user, "s")
        assert "walnuts" not in told
        assert "PostgreSQL" not in told


def test_a_model_erases_nothing() -> None:
    """Its tool forgets, which a person can still look into: erasing is for a person."""
    actions = unavailable_memory_tool().spec.input_schema["properties"]["action"]["enum"]
    assert actions == ["save", "list", "search", "update", "delete", "confirm"]


async def test_every_member_of_a_household_is_told_an_erased_memory_no_more(
    tmp_path: Path, demo_url: str
) -> None:
    settings = settings_with(tmp_path, demo_url, households={"home": ["local", "ben"]})
    async with running_gateway(settings) as user:
        memory_id = await remember(user, "The spare key is under the 花盆", owner_type="household")
        await user.chat("hello", session_id="s")
        with closing(sqlite3.connect(tmp_path / "gateway.db")) as database, database:
            database.execute("UPDATE sessions SET owner = 'ben'")
        assert "花盆" in kept_words(tmp_path)
        await erase(user, memory_id)

    assert "花盆" not in kept_words(tmp_path)


@on_both_engines
async def test_a_sessions_memory_ends_with_it(settings: Settings) -> None:
    """A session that is made under the same id knows nothing of it."""
    async with running_gateway(settings) as user:
        await user.post("/api/sessions", {"id": "s"})
        await remember(user, "the code word is Zebra 斑马", owner_type="session", session_id="s")
        await remember(user, "likes tea")
        await user.chat("hello", session_id="s")
        assert "Zebra" in await prompt_of(user, session_id="s")
        assert (await user.http.delete("/api/sessions/nowhere")).status_code == 404
        assert (await user.http.delete("/api/sessions/s")).status_code == 204
        await user.post("/api/sessions", {"id": "s"})

        assert "Zebra" not in await prompt_of(user, session_id="s")
        assert "tea" in await prompt_of(user, session_id="s")
        assert "Zebra" not in (await user.get("/api/memory")).text


async def test_a_session_is_deleted_where_nothing_is_remembered(tmp_path: Path, demo_url: str) -> None:
    async with running_gateway(settings_with(tmp_path, demo_url, memory=False)) as user:
        await user.chat("hello", session_id="s")
        assert (await user.http.delete("/api/sessions/s")).status_code == 204


async def test_a_turn_that_begins_meanwhile_keeps_the_session_and_its_memory(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deletion is refused as a whole."""
    outbox = Outbox()
    async with running_gateway(settings_with(tmp_path, demo_url), *outbox.tools) as user:
        await user.post("/api/sessions", {"id": "s"})
        await remember(user, "the code word is Zebra 斑马", owner_type="session", session_id="s")
        stored = user.app.state.deps.sessions
        delete = stored.delete

        async def begin_and_delete(session_id: str, owner: str, **given: Any) -> Any:
            await parked(await ask(user, '/call send {"to": "李雷"}', session=session_id))
            return await delete(session_id, owner, **given)

        monkeypatch.setattr(stored, "delete", begin_and_delete)
        refused = await user.http.delete("/api/sessions/s")

        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "turn_in_progress")
        assert "Zebra" in (await user.get("/api/memory")).text


async def test_a_memory_that_fails_is_erased_when_the_deletion_is_asked_for_again(
    tmp_path: Path, demo_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is gone by then, for whoever asks; nobody else's memory is touched."""
    async with running_gateway(settings_with(tmp_path, demo_url)) as user:
        await user.post("/api/sessions", {"id": "s"})
        await remember(user, "the code word is Zebra 斑马", owner_type="session", session_id="s")

        async def fail(*_: Any) -> None:
            raise StorageError("for now")

        with monkeypatch.context() as failing:
            failing.setattr(user.app.state.deps.memory.store, "forget_session", fail)
            assert (await user.http.delete("/api/sessions/s")).status_code == 503
        assert (await user.get("/api/sessions/s")).status_code == 404
        assert (await user.http.delete("/api/sessions/s")).status_code == 404

        assert "Zebra" not in (await user.get("/api/memory")).text


async def test_a_session_that_cannot_be_deleted_keeps_its_memory(tmp_path: Path, demo_url: str) -> None:
    """While a turn of it waits for a person."""
    outbox = Outbox()
    async with running_gateway(settings_with(tmp_path, demo_url), *outbox.tools) as user:
        await user.post("/api/sessions", {"id": "s"})
        await remember(user, "the code word is Zebra 斑马", owner_type="session", session_id="s")
        await parked(await ask(user, '/call send {"to": "李雷"}', session="s"))
        refused = await user.http.delete("/api/sessions/s")

        assert refused.status_code == 409
        assert "Zebra" in (await user.get("/api/memory")).text
