"""What encrypted memories owe beside what every store does (test_memories.py)."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, text, update

from gateway.errors import DecryptionFailed, DuplicateMemory
from gateway.memory.passages import passages
from gateway.storage.memories import AllScopes, Evidence, Filter, Indexed, Profile, Vector, encrypting
from gateway.storage.memories.encrypted_memories import EncryptedMemories
from gateway.storage.memories.memory_database import MemoryDatabase
from gateway.storage.memories.memory_key import forget_key, memory_key, renew_key
from gateway.storage.memories.schema import memories, metadata
from gateway.storage.memories.store import MemoryStore
from tests.postgres import needs_postgres
from tests.product import Keyring, SettingsError, indexed
from tests.storage.remembering import (
    ANN,
    KEYRING,
    RECALLABLE,
    became,
    document,
    encrypted_in,
    listed,
    matched,
    memory,
    postgres_memory,
    remember,
    sqlite_memory,
    step,
)

pytestmark = pytest.mark.anyio

Opening = Callable[[Path], AbstractAsyncContextManager[MemoryDatabase]]

NEW = Keyring([bytes(range(32, 64)), bytes(range(32))])
CORPUS = [
    "The deployment runs in Frankfurt, and the database in Dublin",
    "Deployments are frozen on Fridays; deploy on Mondays",
    "She prefers green tea to coffee, and drinks tea at four",
    "The tea house in Hangzhou opens at nine",
    "Coffee is for guests",
    "Runs ten kilometres every Sunday, and ran a marathon once",
    "用户喜欢简洁的设计风格,不喜欢花哨的设计",
    "数据库部署在法兰克福,备份在都柏林",
    "每周五不部署,周一部署",
    "用户对花生过敏,喜欢绿茶",
    "杭州的茶馆九点开门",
    "設計文件放在共享資料夾",
]
QUESTIONS = [
    "tea",
    "when is the tea house open",
    "which deployment database runs where",
    "running",
    "coffee guests tea",
    "设计风格",
    "數據庫部署在哪裡",
    "茶 tea 杭州 Hangzhou",
    "绿茶 花生 coffee",
    "nothing of this kind",
]
SECRET = "peanut-4711"


@pytest.fixture(params=[sqlite_memory, pytest.param(postgres_memory, marks=needs_postgres)])
def opening(request: pytest.FixtureRequest) -> Opening:
    return request.param


@pytest.fixture
async def database(opening: Opening, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[MemoryDatabase]:
    async with opening(tmp_path) as opened:
        yield opened


async def test_encrypted_memories_are_ranked_as_readable_ones(opening: Opening, tmp_path: Path) -> None:
    """Of one corpus, English and Chinese, every question finds the same memories in the same order with the
    same scores, for a scope and for all of them, documents included."""
    found: list[list[tuple[str, Any]]] = []
    for name in ("plain", "encrypted"):
        folder = tmp_path / name
        folder.mkdir()
        async with opening(folder) as database:
            store = MemoryStore(database) if name == "plain" else await encrypted_in(database)
            await remember(store, *(memory(f"m_{n}", content) for n, content in enumerate(CORPUS)))
            await store.put_documents([document("d_1", "The tea of the house is green 绿茶")])
            for question in QUESTIONS:
                for viewer, which in ((ANN, RECALLABLE), (AllScopes("ann"), Filter())):
                    words = [word for each in indexed(memory("q", question)) for word in each.tokens]
                    matches = await store.match(viewer, words, which, limit=50)
                    found.append([(match.row.id, pytest.approx(match.score)) for match in matches])
    half = len(found) // 2

    assert found[:half] == found[half:]
    assert sum(map(bool, found[:half])) > half // 2, "most questions find something"


async def test_nothing_of_an_encrypted_memory_is_readable(database: MemoryDatabase, tmp_path: Path) -> None:
    """Neither in a column of any table, nor in the words, nor in the bytes of the file and its log: content,
    summary, tags, context, decisions, references, remarks, reasons, quotes, headings and profiles."""
    store = await encrypted_in(database)
    await _say(store, SECRET)

    assert await matched(store, SECRET) == ["m_1", "m_long"]
    assert await listed(store, AllScopes("ann"), Filter(tag=f"tag {SECRET}")) == ["m_1"]
    assert await _readable(database, tmp_path, SECRET) == []
    assert await _readable(database, tmp_path, "peanut") == []


async def test_what_is_old_is_found_and_encrypted_by_the_rotation(
    database: MemoryDatabase, tmp_path: Path
) -> None:
    """Memories from before are read, found and known to be the same beside encrypted ones, and have all that
    hangs on them after a round; then nothing of them is readable, tombstones included."""
    plain = MemoryStore(database)
    await _say(plain, SECRET)
    await plain.write([step(memory("m_gone", f"was {SECRET}"))], most=100)
    await plain.write([became(memory("m_gone", f"was {SECRET}"), "deleted")], most=100)
    rows, versions = await plain.get(ANN, "m_1", "m_long"), await plain.versions(ANN, "m_1")
    evidence, profile = await plain.evidence(ANN, "m_1"), await plain.profile("user", "ann")
    assert await _readable(database, tmp_path, SECRET) != []
    store = await encrypted_in(database)

    assert await matched(store, SECRET) == ["m_1", "m_long"]
    with pytest.raises(DuplicateMemory):
        await remember(store, memory("m_again", (await store.get(ANN, "m_1"))[0].content))
    slices, after = 0, 0
    while True:
        done = await store.encrypt(after, 1, indexed)
        slices += 1
        if done.after is None:
            break
        after = done.after
    assert slices == 4
    assert (await store.encrypt(0, 100, indexed)).memories == 0, "a second round finds nothing"
    assert await store.get(ANN, "m_1", "m_long") == rows
    assert await store.versions(ANN, "m_1") == versions
    assert await store.evidence(ANN, "m_1") == evidence != []
    assert await store.profile("user", "ann") == profile is not None
    assert [each.digest for each in await store.vectors(ANN, "small")] == [rows[0].digest]
    assert [each.content for each in await store.forgotten(ANN, since=0, limit=9)] == [f"was {SECRET}"]
    assert await matched(store, SECRET) == ["m_1", "m_long"]
    assert await _readable(database, tmp_path, SECRET) == []
    assert await _readable(database, tmp_path, "peanut") == [], "nor the words of it alone"


async def test_an_old_memory_that_is_changed_keeps_its_evidence(database: MemoryDatabase) -> None:
    """Whether encryption was turned on or off meanwhile: quotes of the same content still count."""
    row = memory("m_1", "likes tea", evidence_count=1)
    await MemoryStore(database).write([step(row, evidence=[Evidence("s", 1, "tea!")])], most=9)
    for encrypts in (True, False):
        store = await encrypted_in(database, encrypts=encrypts)
        (now,) = await store.get(ANN, "m_1")
        await store.write([became(now, "updated", importance=now.importance - 1)], most=9)

        assert [each.quote for each in await store.evidence(ANN, "m_1")] == ["tea!"]
        assert await matched(store, "tea") == ["m_1"]
        await store.put_vectors("small", [Vector("m_1", row.digest, b"\0" * 8)])
        assert [each.digest for each in await store.vectors(ANN, "small")] == [row.digest]


async def test_what_was_copied_from_another_memory_does_not_open(database: MemoryDatabase) -> None:
    """Contents are bound to their memory."""
    store = await encrypted_in(database)
    await remember(store, memory("m_1", "likes tea"), memory("m_2", "likes coffee"))
    c = memories.c
    copied = select(c.content).where(c.id == "m_1").scalar_subquery()

    def copy(connection: Connection) -> None:
        content = connection.execute(select(copied)).scalar_one()
        connection.execute(update(memories).where(c.id == "m_2").values(content=content))

    await database.write(copy)
    with pytest.raises(DecryptionFailed):
        await store.get(ANN, "m_2")
    assert [row.content for row in await store.get(ANN, "m_1")] == ["likes tea"]


async def test_rotation_stores_their_key_anew_and_leaves_them(database: MemoryDatabase) -> None:
    """The words are found as before, with the new key alone; and no longer with the former one, nor without
    any."""
    await remember(await encrypted_in(database), memory("m_1", "likes tea"))
    assert await database.write(lambda connection: renew_key(connection, NEW))
    assert not await database.write(lambda connection: renew_key(connection, NEW))

    with pytest.raises(SettingsError, match="does not open"):
        await memory_key(database, KEYRING)
    with pytest.raises(SettingsError, match="GATEWAY_ENCRYPTION_KEYS"):
        await memory_key(database, None)
    key = await memory_key(database, Keyring([bytes(range(32, 64))]))
    assert key is not None
    store = EncryptedMemories(database, key, encrypts=True)
    assert await matched(store, "tea") == ["m_1"]


async def test_a_lost_key_is_given_up_with_what_it_encrypts(database: MemoryDatabase) -> None:
    """Encrypted memories and profiles go, readable ones and documents stay, and a new key is made."""
    await remember(MemoryStore(database), memory("m_plain", "likes coffee"))
    await _say(await encrypted_in(database), SECRET)

    def forget(connection: Connection) -> int:
        assert not forget_key(connection, NEW.first)
        assert forget_key(connection, KEYRING.first)
        return encrypting.forget(connection, database.words)

    assert await database.write(forget) == 3
    store = await encrypted_in(database)
    assert await listed(store) == ["m_plain", "d_1"]
    assert await matched(store, SECRET) == []
    assert await store.profile("user", "ann") is None


async def _say(store: MemoryStore, secret: str) -> None:
    """Two memories, a long one among them, a profile and a document."""
    row = memory(
        "m_1",
        f"must not eat {secret} 花生过敏",
        tags=(f"tag {secret}",),
        context=f"told {secret}",
        decisions=(f"no {secret}",),
        refs=(f"https://example.com/{secret}",),
        metadata={"remark": secret},
        flagged=f"look at {secret}",
        evidence_count=1,
    )
    quote = Evidence("s_1", 3, f"I must not eat {secret}")
    await store.write([step(row, evidence=[quote])], most=100)
    await store.put_vectors("small", [Vector("m_1", row.digest, b"\0" * 8)])
    long = "\n\n".join(f"# About {secret}, part {n}\n\n{'word ' * 300}" for n in range(5))
    assert passages(long)
    await store.write([step(memory("m_long", long, summary=secret))], most=100)
    await store.put_profile(Profile("user", "ann", {"allergy": secret}, 1, 1, "ann"))
    await store.put_documents([document("d_1", "The house has tea")])


async def _readable(database: MemoryDatabase, folder: Path, secret: str) -> list[str]:
    """The tables and files in which it stands."""

    def look(connection: Connection) -> list[str]:
        names = [table.name for table in metadata.sorted_tables]
        is_file = connection.dialect.name == "sqlite"
        names += ["memory_words", "memory_words_known"] if is_file else ["memory_postings", "memory_passages"]
        return [
            name
            for name in names
            if any(secret in str(row) for row in connection.execute(text(f"SELECT * FROM {name}")))
        ]

    await database.scrub()
    files = [path.name for path in sorted(folder.glob("memory.db*")) if secret.encode() in path.read_bytes()]
    return [*await database.read(look), *files]


@pytest.mark.parametrize("name", ["plain", "encrypted"])
async def test_what_an_earlier_version_indexed_is_indexed_anew(database: MemoryDatabase, name: str) -> None:
    """Some at a time, and once; of what is encrypted no word can be read before or after."""
    store = MemoryStore(database) if name == "plain" else await encrypted_in(database)
    rows = [memory(f"m_{number}", f"the fact {number} of Kubernetes") for number in range(5)]
    await store.write([replace(step(row), index=[Indexed(["fact"])]) for row in rows], most=9)
    assert [match.row.id for match in await store.match(ANN, ["kubernet"], RECALLABLE, limit=9)] == []
    assert not await store.reindex(2, indexed)  # nothing is to be done in a new database
    await database.write(
        lambda connection: connection.execute(text("INSERT INTO memory_reindexing VALUES (0)")).close()
    )

    assert [await store.reindex(2, indexed) for _ in range(4)] == [True, True, False, False]
    found = await store.match(ANN, ["kubernet"], RECALLABLE, limit=9)
    assert {match.row.id for match in found} == {row.id for row in rows}
    completed = await store.completions(ANN, "kuber", RECALLABLE, most=9)
    assert completed == (["kubernet", "kubernetes"] if name == "plain" else [])
