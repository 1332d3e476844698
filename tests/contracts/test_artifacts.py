"""What every storage engine owes about artifacts: a claim per sentence of `Artifacts`."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.storage.artifacts import MIN_COUNTED, SpaceUsed
from tests.product import ArtifactsFull, NotFound, Storage
from tests.storage.artifact_rows import LATER, QUOTA, add, artifact, begin
from tests.storage.writing import OWNER, Factory

pytestmark = pytest.mark.anyio


async def refs(storage: Storage, owner: str = OWNER, *, session_id: str | None = None) -> list[str]:
    return [row.ref for row in await storage.artifacts.find(owner, limit=99, session_id=session_id)]


async def candidates(storage: Storage) -> Sequence[str]:
    return await storage.orphans.candidates(2**62, 99)


# Reading


async def test_an_artifact_is_found_as_it_was_added(factory: Factory, tmp_path: Path) -> None:
    """With all that it tells, in Chinese too, also after the storage was opened again."""
    full = replace(
        artifact(1, session_id="s"),
        name="订单 2024.csv",
        turn_id="t",
        tool_call_id="toolu_1",
        project_id="p",
        summary="两行订单",
        metadata={"examples": {"search": "订单"}, "n": [1, None]},
    )
    image = replace(artifact(2, "pixels"), mime="image/png", kind="image", lines=None)
    async with factory(tmp_path) as first:
        await begin(first, "s")
        await add(first, full, image)
    async with factory(tmp_path) as second:
        assert await second.artifacts.get(OWNER, full.ref) == full
        assert await second.artifacts.get(OWNER, image.ref) == image


async def test_what_is_not_there_is_not_found(storage: Storage) -> None:
    """Nor is what belongs to somebody else, whoever asks for it and how."""
    await begin(storage, "s")
    await add(storage, artifact(session_id="s"))
    ref = artifact().ref

    for owner, asked in ((OWNER, "ART-none"), ("bob", ref)):
        with pytest.raises(NotFound) as refused:
            await storage.artifacts.get(owner, asked)
        assert refused.value.code == "artifact_not_found"
        with pytest.raises(NotFound, match=asked):
            await storage.artifacts.delete(owner, asked, 9)
    assert await storage.artifacts.those("bob", [ref]) == {}
    assert await refs(storage, "bob", session_id="s") == []
    await storage.artifacts.summarise("bob", ref, "mine now")
    assert await storage.artifacts.get(OWNER, ref) == artifact(session_id="s")


async def test_those_that_are_there_are_told_by_their_reference(storage: Storage) -> None:
    await add(storage, artifact(1), artifact(2, "more"))

    assert await storage.artifacts.those(OWNER, []) == {}
    assert await storage.artifacts.those(OWNER, [artifact(2).ref, "ART-none", artifact(2).ref]) == {
        artifact(2).ref: artifact(2, "more")
    }


async def test_the_blob_of_a_content_is_told(storage: Storage) -> None:
    """Of the owner's artifacts alone: who has the same content shares no blob with others."""
    row = artifact(1)
    await add(storage, row, artifact(2, "more"))

    assert await storage.artifacts.path_of(OWNER, row.sha256) == row.path
    assert await storage.artifacts.path_of("bob", row.sha256) is None
    assert await storage.artifacts.path_of(OWNER, "0" * 64) is None


async def test_artifacts_are_listed_in_pages_the_newest_first(storage: Storage) -> None:
    """Those of the same millisecond by their reference; a page begins strictly before a place."""
    rows = [artifact(number, created_at=number // 2) for number in range(1, 7)]
    await add(storage, *rows)

    first = await storage.artifacts.find(OWNER, limit=4)
    rest = await storage.artifacts.find(OWNER, limit=4, before=(first[-1].created_at, first[-1].ref))

    assert [*first, *rest] == rows[::-1]
    assert len(first) == 4
    assert await storage.artifacts.find(OWNER, limit=4, before=(0, "")) == []


async def test_artifacts_of_a_turn_and_of_a_session_are_listed_alone(storage: Storage) -> None:
    """A session has those that were made in it and those that it uses."""
    await begin(storage, "s", "other")
    made = replace(artifact(1, session_id="s"), turn_id="t")
    await add(storage, made, artifact(2, "more"), artifact(3, "most", session_id="other"))
    await storage.artifacts.use(OWNER, "s", [artifact(3).ref, artifact(3).ref, "ART-none"])

    assert await refs(storage, session_id="s") == [artifact(3).ref, made.ref]
    assert await refs(storage, session_id="other") == [artifact(3).ref]
    assert await refs(storage, session_id="none") == []
    assert await storage.artifacts.find(OWNER, limit=9, turn_id="t") == [made]
    assert await storage.artifacts.find(OWNER, limit=9, turn_id="t", session_id="other") == []


async def test_what_a_model_made_of_an_artifact_is_kept(storage: Storage) -> None:
    """When the artifact is gone, nothing happens."""
    await add(storage, artifact())
    await storage.artifacts.summarise(OWNER, artifact().ref, "两行订单")
    await storage.artifacts.summarise(OWNER, "ART-none", "nothing")

    assert await storage.artifacts.get(OWNER, artifact().ref) == replace(artifact(), summary="两行订单")


# Room


async def test_artifacts_fill_the_room_of_their_owner_and_of_nobody_else(storage: Storage) -> None:
    """Each counts as a block of a disk at least; what does not fit is refused and changes nothing."""
    await add(storage, artifact(1), artifact(2, "more", size=3 * MIN_COUNTED), quota=5 * MIN_COUNTED)
    assert await storage.artifacts.space_used(OWNER) == SpaceUsed(4 * MIN_COUNTED, 2)

    large = artifact(3, "large", size=MIN_COUNTED + 1)
    with pytest.raises(ArtifactsFull) as refused:
        await add(storage, large, quota=5 * MIN_COUNTED)

    assert refused.value.details == {"quota": 5 * MIN_COUNTED, "used": 4 * MIN_COUNTED}
    assert await storage.artifacts.space_used(OWNER) == SpaceUsed(4 * MIN_COUNTED, 2)
    assert await candidates(storage) == [large.path]
    await add(storage, artifact(4, "a block"), artifact(1, owner="bob"), quota=5 * MIN_COUNTED)
    assert await storage.artifacts.space_used("bob") == SpaceUsed(MIN_COUNTED, 1)
    assert await storage.artifacts.space_used("eve") == SpaceUsed(0, 0)


async def test_the_same_content_once_more_takes_a_block(storage: Storage) -> None:
    """However large it is; so their number is bounded too."""
    size, quota = 10 * MIN_COUNTED, 12 * MIN_COUNTED
    await add(storage, artifact(1, size=size), artifact(2, size=size), artifact(3, size=size), quota=quota)

    assert await storage.artifacts.space_used(OWNER) == SpaceUsed(quota, 3)
    with pytest.raises(ArtifactsFull):
        await add(storage, artifact(4, size=size), quota=quota)


@pytest.mark.parametrize(
    ("anna", "bob", "stranger"), [("acme/anna", "acme/bob", "acmes/eve"), ("anna", "bob", "acme/eve")]
)
async def test_all_users_of_a_tenant_have_one_room_besides(
    storage: Storage, anna: str, bob: str, stranger: str
) -> None:
    """What the others have counts; what does not fit is refused and changes nothing. Those of another tenant,
    however like its name is, have their own, and what is deleted makes room."""
    room = {"quota": 9 * MIN_COUNTED, "tenant_quota": 3 * MIN_COUNTED}
    await add(storage, artifact(1, owner=anna), artifact(2, "more", owner=anna), **room)
    await add(storage, artifact(3, owner=stranger, size=3 * MIN_COUNTED), **room)
    await add(storage, artifact(4, owner=bob), **room)

    with pytest.raises(ArtifactsFull) as refused:
        await add(storage, artifact(5, "his", owner=bob), **room)

    assert refused.value.details == {"quota": 3 * MIN_COUNTED, "used": 4 * MIN_COUNTED}
    assert type((refused.value.details or {})["used"]) is int  # as it is written into the answer
    assert await storage.artifacts.space_used(bob) == SpaceUsed(MIN_COUNTED, 1)
    await storage.artifacts.delete(anna, artifact(1).ref, 9)
    await add(storage, artifact(5, "his", owner=bob), **room)


@pytest.mark.parametrize("room", [{"quota": 3}, {"quota": 9, "tenant_quota": 3}])
async def test_a_room_is_not_exceeded_by_who_comes_at_once(storage: Storage, room: dict[str, int]) -> None:
    """Of ten artifacts as many are added as fit; each of the others is refused."""
    owners = ["acme/anna"] * 10 if len(room) == 1 else [f"acme/u{number}" for number in range(10)]
    found = await asyncio.gather(
        *(
            add(
                storage,
                artifact(number, f"content {number}", owner=owner),
                **{name: count * MIN_COUNTED for name, count in room.items()},
            )
            for number, owner in enumerate(owners)
        ),
        return_exceptions=True,
    )

    assert found.count(None) == 3
    assert sum(isinstance(each, ArtifactsFull) for each in found) == 7


# Sessions


async def test_an_artifact_is_made_in_a_session_of_its_owner(storage: Storage) -> None:
    """In none that is not there, and in nobody else's."""
    await begin(storage, "theirs", owner="bob")

    for session_id in ("theirs", "none"):
        with pytest.raises(NotFound) as refused:
            await add(storage, artifact(session_id=session_id))
        assert refused.value.code == "session_not_found"
    assert await refs(storage) == []


async def test_a_session_uses_only_what_belongs_to_its_owner(storage: Storage) -> None:
    """Naming another's artifact, or another's session, does nothing."""
    await begin(storage, "s")
    await begin(storage, "theirs", owner="bob")
    await add(storage, artifact(1), artifact(2, "other", owner="bob"))

    await storage.artifacts.use(OWNER, "s", [artifact(2).ref])
    await storage.artifacts.use(OWNER, "theirs", [artifact(1).ref])
    await storage.artifacts.use("bob", "s", [artifact(2).ref])

    assert await refs(storage, session_id="s") == await refs(storage, "bob", session_id="theirs") == []
    assert await refs(storage, session_id="theirs") == await refs(storage, "bob", session_id="s") == []
    assert await storage.artifacts.expire(LATER, 9) == 2


async def test_the_session_that_used_a_file_last_is_told(storage: Storage) -> None:
    """Of its owner's; none of a file that no session uses, or of another's."""
    for session_id, at in (("older", 1), ("newer", 2)):
        await storage.sessions.create(session_id, OWNER, None, at)
    await add(storage, artifact(1), artifact(2), artifact(3))
    for session_id, numbers in (("newer", (1,)), ("older", (1, 2))):
        await storage.artifacts.use(OWNER, session_id, [artifact(n).ref for n in numbers])
    wanted = [artifact(n).ref for n in (1, 2, 3)]

    found = await storage.artifacts.used_in(OWNER, wanted)

    assert found == {artifact(1).ref: "newer", artifact(2).ref: "older"}
    assert await storage.artifacts.used_in("bob", wanted) == {}


async def test_with_a_session_go_the_artifacts_that_are_its_alone(storage: Storage) -> None:
    """What another session uses stays, and what was made elsewhere; the others leave candidates."""
    await begin(storage, "s", "other")
    rows = [artifact(number, str(number), session_id="s") for number in (1, 2)]
    brought = artifact(3, "brought")
    await add(storage, *rows, brought)
    await storage.artifacts.use(OWNER, "other", [rows[1].ref])
    await storage.artifacts.use(OWNER, "s", [brought.ref])

    await storage.sessions.delete("s", OWNER)

    kept = [brought, replace(rows[1], session_id=None)]
    assert await storage.artifacts.find(OWNER, limit=9) == kept
    assert await refs(storage, session_id="other") == [rows[1].ref]
    assert await candidates(storage) == [rows[0].path]
    assert await storage.artifacts.expire(LATER, 9) == 1
    assert await refs(storage) == [rows[1].ref]


# Expiry and blobs that may be orphans


async def test_what_no_session_uses_is_removed_when_its_time_is_over(storage: Storage) -> None:
    """Not before, and at most so many at a time, those first that have waited longest."""
    await begin(storage, "s")
    rows = [artifact(number, str(number), expires_at=100 - number) for number in range(4)]
    await add(storage, *rows, artifact(9, "used", session_id="s", expires_at=1))

    assert await storage.artifacts.expire(96, 9) == 0
    assert await storage.artifacts.expire(98, 1) == 1
    assert await candidates(storage) == [rows[3].path]
    assert await storage.artifacts.expire(98, 9) == 1
    assert await refs(storage) == [artifact(9).ref, rows[1].ref, rows[0].ref]


async def test_what_a_session_uses_is_looked_at_again_a_day_later(storage: Storage) -> None:
    """So no round is of the same ones as the one before, however many are used."""
    await begin(storage, "s")
    used = [artifact(number, str(number), session_id="s", expires_at=number) for number in range(1, 4)]
    await add(storage, *used, artifact(9, "over", expires_at=9))
    day = 86_400_000

    assert [await storage.artifacts.expire(10, 2) for _ in range(3)] == [0, 1, 0]

    ends = {row.ref: row.expires_at for row in await storage.artifacts.find(OWNER, limit=9)}
    assert ends == {row.ref: 10 + day for row in used}
    await storage.sessions.delete("s", OWNER)
    assert await refs(storage) == []


async def test_a_blob_is_a_candidate_until_an_artifact_has_it(storage: Storage) -> None:
    """The oldest come first, and one that is suspected again begins anew."""
    one, two = artifact(1, "one"), artifact(2, "two")
    await storage.orphans.suspect([one.path], 5)
    await storage.orphans.suspect([two.path], 6)
    assert await storage.orphans.candidates(7, 9) == [one.path, two.path]
    assert await storage.orphans.candidates(7, 1) == await storage.orphans.candidates(6, 9) == [one.path]

    await storage.orphans.suspect([one.path], 8)
    assert await storage.orphans.candidates(9, 9) == [two.path, one.path]
    await storage.artifacts.add(one, quota=QUOTA)
    await storage.orphans.resolve(two.path)
    await storage.orphans.resolve("never/suspected")

    assert await candidates(storage) == []


async def test_a_blob_that_artifacts_share_is_needed_until_the_last_is_gone(storage: Storage) -> None:
    """Each removal makes it a candidate; users share none."""
    await add(storage, artifact(1), artifact(2), artifact(1, owner="bob"))
    path = artifact().path
    assert artifact(1, owner="bob").path != path

    await storage.artifacts.delete(OWNER, artifact(1).ref, 9)
    assert await candidates(storage) == [path]
    assert not await storage.orphans.condemn(path, 9)
    await storage.artifacts.delete(OWNER, artifact(2).ref, 10)

    assert await storage.orphans.condemn(path, 11)
    assert not await storage.orphans.condemn(artifact(owner="bob").path, 11)
