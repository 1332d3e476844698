"""What storage owes about persons: what there is of them, and its erasure."""

from dataclasses import replace

import pytest

from gateway.storage.api_keys import ApiKey
from gateway.storage.audit import AuditEntry
from gateway.storage.holds import Hold
from gateway.storage.memories import AllScopes, Evidence, Profile
from gateway.storage.memories.store import MemoryStore
from gateway.storage.persons import Erasure, Kept
from tests.product import Conflict, Storage
from tests.storage.remembering import became, memory, remember, step
from tests.storage.saying import add_turn
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

ASKED = Erasure("erasure_1", "default", OWNER, "ada", 5)
KEY = ApiKey("a" * 16, "default", OWNER, "a script", ("member",), ("chat",), "00" * 32, 5, OWNER)


async def test_an_erasure_is_asked_for_once_and_is_done_once(storage: Storage) -> None:
    """Repeated, it is the one that is under way; what is done is not changed any more."""
    erasures = storage.person_erasures
    assert await erasures.request(ASKED) == ASKED
    assert await erasures.request(replace(ASKED, id="erasure_2", requested_at=6)) == ASKED
    await erasures.request(replace(ASKED, id="erasure_3", person="bob"))
    running = replace(ASKED, state="running", step="keys", starts=1, found={"sessions": 2})
    assert await erasures.put(running)
    assert list(await erasures.unfinished()) == [running, replace(ASKED, id="erasure_3", person="bob")]

    kept = (Kept("audit", 3, "its time"), Kept("backups", None, "unknown"))
    done = replace(running, state="done", person="erased:1", kept=kept, finished_at=9)
    assert await erasures.put(done)
    assert not await erasures.put(running)
    assert await erasures.of(OWNER, "erased:1") == done
    assert await erasures.of("nobody") is None
    assert list(await erasures.ids("default")) == ["erasure_1", "erasure_3"]
    again = replace(ASKED, id="erasure_4", requested_at=10)
    assert await erasures.request(again) == again


@pytest.mark.parametrize("kind", ["user", "session"])
async def test_who_is_held_is_not_to_be_erased(storage: Storage, kind: str) -> None:
    subject = OWNER if kind == "user" else "s"
    await storage.holds.place(Hold("h", kind, subject, OWNER, "default", "x", "ada", 1))  # pyright: ignore[reportArgumentType]

    with pytest.raises(Conflict) as error:
        await storage.person_erasures.request(ASKED)

    assert error.value.code == "legal_hold"


async def test_rows_of_a_person_are_counted_paged_and_removed(storage: Storage) -> None:
    """Without what is secret, and nobody else's."""
    await add_turn(storage, "s", "t", "hello", "yes")
    for number, user in enumerate((OWNER, "bob", OWNER, OWNER)):
        await storage.keys.add(replace(KEY, id=f"{number:016x}", user_id=user), most=9)

    counted = {"api_keys": 3, "sessions": 1, "session_totals": 1, "turns": 1}
    assert await storage.persons.counts(OWNER) == counted
    first, after = await storage.persons.page("api_keys", OWNER, after=None, limit=2)
    second, end = await storage.persons.page("api_keys", OWNER, after=after, limit=2)
    assert [row["id"] for row in (*first, *second)] == [f"{number:016x}" for number in (0, 2, 3)]
    assert end is None
    assert "digest" not in first[0]
    assert await storage.persons.remove("api_keys", OWNER, 2) == 2
    assert await storage.persons.remove("api_keys", OWNER, 2) == 1
    assert [key.user_id for key in await storage.keys.list()] == ["bob"]


async def test_who_made_what_is_others_is_renamed(storage: Storage) -> None:
    """And is told, as long as it is not, with all that names them."""
    await storage.keys.add(replace(KEY, user_id="bob"), most=9)
    await storage.audit.add([AuditEntry(1, "default", OWNER, None, None, "x.y", None, None, "done", None)])
    assert await storage.persons.named(OWNER) == {"api_keys.created_by": 1, "audit.actor": 1}

    assert await storage.persons.rename(OWNER, "erased:1") == 1
    assert await storage.audit.pseudonymise(OWNER, "erased:1") == 1

    assert await storage.persons.named(OWNER) == {}
    assert await storage.audit.count("erased:1") == 1
    assert [key.created_by for key in await storage.keys.list()] == ["erased:1"]


async def test_all_that_is_remembered_of_a_person_is_erased_but_what_is_a_households(
    store: MemoryStore,
) -> None:
    """Deleted memories too; the household's stay without the name and the quotes, in their versions too."""
    shared = memory("m_shared", owner_type="household", owner_id="home")
    alone = memory("m_alone", owner_type="household", owner_id="x")
    await remember(store, memory("m_own"), memory("m_gone"), alone)
    await store.write([became(memory("m_gone"), "deleted")], most=9)
    quote = Evidence("s", 1, "the key is under the mat")
    await store.write([step(shared, evidence=[quote])], most=9)
    await store.write([step(memory("m_bob", user_id="bob", owner_id="bob"))], most=9)
    await store.put_profile(Profile("user", OWNER, {"name": "Ann"}, 1, 1, OWNER))
    assert await store.counts(OWNER, ["home"]) == {
        "memories": 2,
        "deleted_memories": 1,
        "memory_versions": 4,
        "memory_evidence": 1,
        "profiles": 1,
        "household_memories": 1,
    }

    for _ in range(2):
        await store.erase_person(OWNER, "erased:1", ["home"])

    assert await store.named(OWNER) == {}
    everything = AllScopes(OWNER, ("home", "x"))
    (left,) = await store.list(everything, limit=9)
    assert (left.id, left.user_id) == ("m_shared", "erased:1")
    (version,) = await store.versions(everything, "m_shared")
    assert (version.actor, version.row.user_id) == ("erased:1", "erased:1")
    assert await store.evidence(everything, "m_shared") == []
    assert await store.tombstones(everything, limit=9) == []
    assert await store.profile("user", OWNER) is None
    assert [each.id for each in await store.list(AllScopes("bob"), limit=9)] == ["m_bob"]


async def test_nothing_of_a_held_users_memories_goes_for_good(store: MemoryStore) -> None:
    """Neither by erasing, nor with too many tombstones; those that are not held any more are as others."""
    rows = [memory(f"m_{number}") for number in range(4)]
    await remember(store, *rows)
    await store.hold([OWNER])
    for row in rows[1:]:
        await store.write([became(row, "deleted")], most=1)
    with pytest.raises(Conflict) as erasing:
        await store.erase(AllScopes(OWNER), "m_0")
    with pytest.raises(Conflict):
        await store.erase_person(OWNER, "erased:1", [])
    assert erasing.value.code == "legal_hold"
    assert len(await store.tombstones(AllScopes(OWNER), limit=9)) == 3

    await store.hold(["bob"])
    assert await store.erase(AllScopes(OWNER), "m_0")
