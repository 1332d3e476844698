"""Artifacts, whatever happens to them in whatever order: nothing is lost, and nothing is left behind."""

from collections.abc import Callable, Coroutine
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.storage.artifacts import MIN_COUNTED, ArtifactRow, SpaceUsed
from gateway.storage.artifacts.removal import PUT_OFF
from tests.product import ArtifactsFull, NotFound, Storage
from tests.storage.artifact_rows import LATER, add, artifact, begin
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

QUOTA = 6 * MIN_COUNTED
OWNERS = {"s1": OWNER, "s2": OWNER, "t1": "bob", "t2": "bob"}


class Story:
    """A storage, and what should be there: rows, who uses them (session, owner, reference), and every path
    that a blob ever had."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.rows: dict[tuple[str, str], ArtifactRow] = {}
        self.uses: set[tuple[str, str, str]] = set()
        self.paths: set[str] = set()
        self.sessions = set(OWNERS)
        self.made = 0

    async def add(self, owner: str, blocks: int, session_id: str | None, expires_at: int) -> None:
        """A content of so many blocks, the same each time."""
        self.made += 1
        row = artifact(
            self.made,
            str(blocks),
            owner=owner,
            session_id=session_id,
            size=blocks * MIN_COUNTED,
            expires_at=expires_at,
        )
        is_known = any(each.path == row.path for each in self.rows.values())
        counts = MIN_COUNTED if is_known else row.size
        self.paths.add(row.path)
        if session_id is not None and not self.is_of(session_id, owner):
            with pytest.raises(NotFound):
                await add(self.storage, row)
        elif self.counted(owner) + counts > QUOTA:
            with pytest.raises(ArtifactsFull):
                await add(self.storage, row, quota=QUOTA)
        else:
            await add(self.storage, row, quota=QUOTA)
            self.rows[owner, row.ref] = row
            if session_id is not None:
                self.uses.add((session_id, owner, row.ref))

    async def use(self, owner: str, session_id: str, number: int) -> None:
        ref = artifact(number).ref
        await self.storage.artifacts.use(owner, session_id, [ref])
        if (owner, ref) in self.rows and self.is_of(session_id, owner):
            self.uses.add((session_id, owner, ref))

    async def delete(self, owner: str, number: int) -> None:
        ref = artifact(number).ref
        if (owner, ref) in self.rows:
            await self.storage.artifacts.delete(owner, ref, 9)
            self.remove(owner, ref)
        else:
            with pytest.raises(NotFound):
                await self.storage.artifacts.delete(owner, ref, 9)

    async def expire(self, now: int) -> None:
        over = [key for key, row in self.rows.items() if row.expires_at <= now and not self.is_used(*key)]
        assert await self.storage.artifacts.expire(now, 99) == len(over)
        for key, row in self.rows.items():
            if row.expires_at <= now and key not in over:
                self.rows[key] = replace(row, expires_at=now + PUT_OFF)
        for key in over:
            self.remove(*key)

    async def end(self, session_id: str) -> None:
        if session_id not in self.sessions:
            return
        await self.storage.sessions.delete(session_id, OWNERS[session_id])
        self.sessions.remove(session_id)
        self.uses = {use for use in self.uses if use[0] != session_id}
        for key, row in list(self.rows.items()):
            if row.session_id == session_id:
                self.rows[key] = replace(row, session_id=None)
                if not self.is_used(*key):
                    self.remove(*key)

    async def check(self) -> None:
        store = self.storage.artifacts
        for owner in (OWNER, "bob"):
            theirs = {row.ref: row for row in self.rows.values() if row.owner == owner}
            assert {row.ref: row for row in await store.find(owner, limit=99)} == theirs
            assert await store.those(owner, [ref for _, ref in self.rows]) == theirs
            assert await store.space_used(owner) == SpaceUsed(self.counted(owner), len(theirs))
        for session_id, owner in OWNERS.items():
            used = {ref for session, _, ref in self.uses if session == session_id}
            assert {row.ref for row in await store.find(owner, limit=99, session_id=session_id)} == used
        needed = {row.path for row in self.rows.values()}
        candidates = set(await self.storage.orphans.candidates(2**62, 99))
        for path in self.paths:
            assert path in needed | candidates
            assert await self.storage.orphans.condemn(path, 9) == (path not in needed)

    async def clear(self) -> None:
        for session_id in list(self.sessions):
            await self.storage.sessions.delete(session_id, OWNERS[session_id])
        await self.storage.artifacts.expire(LATER + PUT_OFF, 99)
        for path in self.paths:
            await self.storage.orphans.resolve(path)

    def is_of(self, session_id: str, owner: str) -> bool:
        return session_id in self.sessions and OWNERS[session_id] == owner

    def is_used(self, owner: str, ref: str) -> bool:
        return any(use[1:] == (owner, ref) for use in self.uses)

    def counted(self, owner: str) -> int:
        theirs = [row for row in self.rows.values() if row.owner == owner]
        sizes = {row.path: row.size for row in theirs}
        return sum(sizes.values()) + (len(theirs) - len(sizes)) * MIN_COUNTED

    def remove(self, owner: str, ref: str) -> None:
        del self.rows[owner, ref]
        self.uses = {use for use in self.uses if use[1:] != (owner, ref)}


Step = tuple[Callable[..., Coroutine[None, None, None]], tuple[object, ...]]

owners = st.sampled_from([OWNER, "bob"])
sessions = st.sampled_from(sorted(OWNERS))
numbers = st.integers(1, 8)
steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(
        st.just(Story.add), st.tuples(owners, st.integers(1, 3), st.none() | sessions, st.integers(1, 9))
    ),
    st.tuples(st.just(Story.use), st.tuples(owners, sessions, numbers)),
    st.tuples(st.just(Story.delete), st.tuples(owners, numbers)),
    st.tuples(st.just(Story.expire), st.tuples(st.integers(1, 9))),
    st.tuples(st.just(Story.end), st.tuples(sessions)),
)


@settings(max_examples=60)
@given(st.lists(steps, min_size=1, max_size=16))
async def test_owners_have_theirs_alone_and_nothing_is_lost(storage: Storage, taken: list[Step]) -> None:
    """Whoever adds, uses, deletes and expires: all is as it should be, nobody is over their quota, what a
    session uses does not expire, and a blob that no artifact has is a candidate."""
    story = Story(storage)
    for session_id, owner in OWNERS.items():
        await begin(storage, session_id, owner=owner)
    try:
        for step, values in taken:
            await step(story, *values)
        await story.check()
    finally:
        await story.clear()
