"""A session as a file, and back."""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import BadImport, TurnInProgress
from tests.history.copying import blobs_in, exported, exporting, imported, sealed_as
from tests.history.past import (
    BEGAN,
    PASTS,
    Past,
    compress_past,
    sealed,
    settings_in,
    summarise_past,
    write_past,
)
from tests.product import Conflict, History, NewTurn, NotFound, Storage, open_storage
from tests.storage.archiving import all_events, archive
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

EVERY_EXAMPLE = settings(max_examples=15)
TALK = [Past("hello 你好", ("a", "b ", "c")), Past("more", ("d",)), Past("last", ())]


async def a_file(folder: Path) -> bytes:
    """An export with turns, two versions, a summary, messages and events."""
    async with open_storage(settings_in(folder)) as storage:
        await write_past(storage, "s", TALK)
        await compress_past(storage, "s", 2)
        await compress_past(storage, "s", 4)
        await summarise_past(storage, "s", 6)
        return await exported(storage)


async def is_empty(storage: Storage) -> bool:
    """Whether nothing at all is kept of a session `s`: no row, no event, no archive."""
    rows = await storage.sessions.list(OWNER, limit=10)
    events = await storage.log.read("s", after=0, limit=1)
    versions = await storage.compressions.list("s")
    return not (rows or events or versions or await storage.copies.taken("s"))


@EVERY_EXAMPLE
@given(PASTS.filter(bool), st.data())
async def test_what_comes_back_is_what_went_out(
    tmp_path_factory: pytest.TempPathFactory, pasts: list[Past], data: st.DataObject
) -> None:
    """Export, import into an empty gateway, export: the same bytes; so are events, messages, the view's
    history and the archives. It makes no difference whether the session was archived."""
    folder = tmp_path_factory.mktemp("there")
    cuts = sorted(data.draw(st.lists(st.integers(1, 2 * len(pasts)), unique=True, max_size=3)))
    async with open_storage(settings_in(folder / "a")) as storage:
        await write_past(storage, "s", pasts)
        for cut in cuts:
            await compress_past(storage, "s", cut)
        if data.draw(st.booleans()):
            await storage.compressions.activate("s", None)
        if data.draw(st.booleans()):
            await summarise_past(storage, "s", 1)
        first = await exported(storage)
        if data.draw(st.booleans()):
            await archive(storage)
            assert await exported(storage) == first
        events, messages = await all_events(storage, "s"), await storage.sessions.messages("s")
        history = await storage.sessions.history("s")
    async with open_storage(settings_in(folder / "b")) as storage:
        await imported(storage, first)

        assert await exported(storage) == first
        assert await all_events(storage, "s") == events
        assert await storage.sessions.messages("s") == messages
        assert without_path(await storage.sessions.history("s")) == without_path(history)
        for version in await storage.compressions.list("s"):
            lines = gzip.decompress(await storage.blobs.read(version.archive_path)).splitlines()
            covered = range(version.from_position, version.to_position + 1)
            assert [orjson.loads(line)["position"] for line in lines] == list(covered)


def without_path(history: History) -> History:
    """A blob has a name of its own in each store."""
    row = history.compression
    own = replace(history, was_brought=False)
    return own if row is None else replace(own, compression=replace(row, archive_path=""))


async def test_an_imported_session_belongs_to_its_importer_and_goes_on(tmp_path: Path) -> None:
    """Whoever exported it, the importer owns it, and its next turn continues seq and position."""
    file = await a_file(tmp_path / "a")
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file, "bob")
        with pytest.raises(NotFound):
            await storage.sessions.get("s", OWNER)
        before = await storage.sessions.get("s", "bob")
        new = NewTurn("next", "s", "bob", "hi", "model", None, "reject", create_session=False, at=BEGAN)

        assert (await storage.turns.accept(new, max_queued=0)).head == before.head
        assert (await storage.summaries.get("s", "bob")).owner == "bob"


async def test_summaries_of_imported_sessions_are_shown_to_new_ones(tmp_path: Path) -> None:
    """Also when this process believed that no summary was ever made."""
    file = await a_file(tmp_path / "a")
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await storage.sessions.create("new", OWNER, None, BEGAN)

        async def carried() -> Sequence[str]:
            rows = await storage.summaries.carried("new", OWNER, limit=5)
            return [row.session_id for row in rows]

        assert await carried() == []
        await imported(storage, file)
        assert await carried() == ["s"]


async def test_a_session_with_a_turn_in_flight_is_not_exported(tmp_path: Path) -> None:
    """There would be no consistent moment."""
    async with open_storage(settings_in(tmp_path)) as storage:
        new = NewTurn("t", "s", OWNER, "hi", "model", None, "reject", create_session=True, at=BEGAN)
        await storage.turns.accept(new, max_queued=0)

        with pytest.raises(TurnInProgress) as refused:
            await exported(storage)

    assert refused.value.details == {"turn_id": "t", "seq": 0}


async def test_turns_that_come_later_are_no_part_of_an_export(tmp_path: Path) -> None:
    """What is said while the file is written belongs to the next export."""
    async with open_storage(settings_in(tmp_path)) as storage:
        await write_past(storage, "s", TALK)
        whole = await exported(storage)
        export = await exporting(storage)
        chunks = export.chunks()
        begun = await anext(chunks)
        await write_past(storage, "s", TALK, name="later")

        assert begun + b"".join([chunk async for chunk in chunks]) == whole


async def test_an_export_of_a_session_that_is_deleted_meanwhile_fails(tmp_path: Path) -> None:
    """It never ends as if it were complete."""
    async with open_storage(settings_in(tmp_path)) as storage:
        await write_past(storage, "s", TALK)
        export = await exporting(storage)
        await storage.sessions.delete("s", OWNER)

        with pytest.raises(NotFound):
            _ = [chunk async for chunk in export.chunks()]


@EVERY_EXAMPLE
@given(st.data())
async def test_a_damaged_file_is_refused_as_a_whole(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Flip any bit, or cut the file anywhere: the import tells a line and a reason and leaves nothing."""
    folder = tmp_path_factory.mktemp("damaged")
    file = bytearray(await a_file(folder / "a"))
    async with open_storage(settings_in(folder / "b")) as storage:
        for _ in range(20):
            damaged = bytearray(file)
            if data.draw(st.booleans()):
                damaged[data.draw(st.integers(0, len(file) - 1))] ^= 1 << data.draw(st.integers(0, 7))
            else:
                del damaged[data.draw(st.integers(0, len(file) - 1)) :]
            with pytest.raises(BadImport) as refused:
                await imported(storage, bytes(damaged))

            assert refused.value.details is not None
            assert refused.value.details["line"] >= 1
        assert await is_empty(storage)
        assert blobs_in(folder / "b") == []


Change = Callable[[list[dict[str, Any]]], object]


BRIEF = {"kind": "instructions", "digest": sha256(b"Be brief.").hexdigest(), "text": "Be brief."}


def of(lines: list[dict[str, Any]], kind: str, number: int = 0) -> dict[str, Any]:
    return [line for line in lines if line["kind"] == kind][number]


FORGERIES: dict[str, Change] = {
    "another format": lambda lines: lines[0].update(format=5),
    "an id that is none": lambda lines: lines[0].update(id="../x"),
    "no messages where some are told": lambda lines: lines.remove(of(lines, "message", -1)),
    "an event less": lambda lines: lines.remove(of(lines, "event", -1)),
    "an event of another session": lambda lines: of(lines, "event")["body"].update(session_id="other"),
    "a gap in seq": lambda lines: of(lines, "event", 1)["body"].update(seq=9),
    "an event of an unknown type": lambda lines: of(lines, "event", 1)["body"].update(type="magic"),
    "an event without its data": lambda lines: of(lines, "event")["body"].update(data={}),
    "parts of an event out of order": lambda lines: of(lines, "event")["body"].update(
        ts=of(lines, "event")["body"].pop("ts")
    ),
    "a turn that never ended": lambda lines: of(lines, "turn").update(outcome=None),
    "a turn that ended otherwise": lambda lines: of(lines, "turn").update(outcome="failed"),
    "a turn that claims another's events": lambda lines: of(lines, "turn").update(last_seq=6),
    "a turn twice": lambda lines: lines.insert(1, of(lines, "turn")),
    "an event moved to a turn that is not there": lambda lines: of(lines, "event", -1)["body"].update(
        turn_id="nobody"
    ),
    "a message changed after it was archived": lambda lines: of(lines, "message")["content"][0].update(
        text="forged"
    ),
    "a usage whose parts are out of order": lambda lines: of(lines, "message", -1).update(
        usage=dict(reversed(of(lines, "message", -1)["usage"].items()))
    ),
    "a message of a role that is none": lambda lines: of(lines, "message").update(role="system"),
    "a message without content": lambda lines: of(lines, "message", -1).update(content=[]),
    "a version without its parent": lambda lines: lines.remove(of(lines, "compression")),
    "a version of messages that are not there": lambda lines: of(lines, "compression", 1).update(
        to_position=99
    ),
    "a version in force that is not there": lambda lines: lines[0].update(compression=7),
    "a version with a path": lambda lines: of(lines, "compression").update(archive_path="sessions/x"),
    "a summary of the future": lambda lines: of(lines, "summary").update(to_position=99),
    "two summaries": lambda lines: lines.insert(lines.index(of(lines, "summary")), of(lines, "summary")),
    "lines out of order": lambda lines: lines.append(lines.pop(1)),
    "a line of an unknown kind": lambda lines: lines.insert(1, {"kind": "owner", "owner": "root"}),
    "instructions that are not there": lambda lines: lines[0].update(instructions="0" * 64),
    "instructions of a turn that are not there": lambda lines: of(lines, "turn").update(
        instructions="0" * 64
    ),
    "instructions under another digest": lambda lines: lines.insert(
        1, {"kind": "instructions", "digest": "0" * 64, "text": "Be brief."}
    ),
    "instructions twice": lambda lines: lines.__setitem__(slice(1, 1), [BRIEF, BRIEF]),
    "a NUL in a title": lambda lines: lines[0].update(title="a\0b"),
}


SINCE_4 = {
    "session": ("instructions", "branch"),
    "turn": ("instructions", "branch", "parent", "origin"),
    "compression": ("branch",),
}
"""Fields that the format 4 brought."""


@pytest.mark.parametrize("form", [1, 2, 3])
async def test_an_export_of_an_older_format_is_still_read(tmp_path: Path, form: int) -> None:
    """The first one had no roles, two had no attachments or artifacts, three no clients' instructions and no
    branches: there are none."""
    lines = [orjson.loads(line) for line in (await a_file(tmp_path / "a")).splitlines()][:-1]
    lines[0]["format"] = form
    if form == 1:
        del lines[0]["role_id"]
    for line in lines:
        for field in SINCE_4.get(line["kind"], ()):
            del line[field]
        if line["kind"] == "turn" and form < 3:
            del line["attachments"]
    old = sealed_as(form, [orjson.dumps(line) for line in lines])
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, old)
        session = await storage.sessions.get("s", OWNER)
        (_, first), *_ = await storage.copies.turns("s", after=0, limit=9)

    assert session.role_id is None
    assert session.head > 0
    assert first.attachments is None


async def test_an_older_format_has_nothing_of_a_newer_one(tmp_path: Path) -> None:
    """Such a file was never written by a gateway."""
    lines = [orjson.loads(line) for line in (await a_file(tmp_path / "a")).splitlines()][:-1]
    lines[0]["format"] = 2
    for line in lines:
        for field in SINCE_4.get(line["kind"], ()):
            del line[field]
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with pytest.raises(BadImport, match="Attachments is unknown"):
            await imported(storage, sealed_as(2, [orjson.dumps(line) for line in lines]))


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_file_is_refused_though_its_hash_fits(tmp_path: Path, name: str) -> None:
    """Whoever can write a file can write its sha256 too, so everything in it is checked."""
    lines = [orjson.loads(line) for line in (await a_file(tmp_path / "a")).splitlines()][:-1]
    FORGERIES[name](lines)
    forged = sealed([orjson.dumps(line) for line in lines])
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with pytest.raises(BadImport):
            await imported(storage, forged)

        assert await is_empty(storage)
        assert blobs_in(tmp_path / "b") == []


async def test_the_files_of_the_forgeries_are_sound_before_they_are_forged(tmp_path: Path) -> None:
    """Sealing again what was not changed gives the same file: the refusals above are of the forgery."""
    file = await a_file(tmp_path)

    assert sealed(file.splitlines()[:-1]) == file


@pytest.mark.parametrize("odd", [b'{"kind":"event", ', b'{"kind":"turn","id":"x",', b"\xef\xbb\xbf{"])
async def test_a_line_in_another_form_is_refused(tmp_path: Path, odd: bytes) -> None:
    """Spaces, names given twice or marks before a line could hide what they say from one of two readers."""
    file = await a_file(tmp_path / "a")
    plain = odd.replace(b" ", b"").replace(b'"id":"x",', b"").removeprefix(b"\xef\xbb\xbf")
    lines = file.replace(plain, odd, 1).splitlines()[:-1]
    body = b"".join(line + b"\n" for line in lines)
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with pytest.raises(BadImport, match=r"form|JSON"):
            await imported(storage, body)


async def test_ids_that_are_taken_are_a_conflict_and_nothing_is_touched(tmp_path: Path) -> None:
    """Neither the session that has the id, with its archives, nor one whose turn has the id of a turn."""
    file = await a_file(tmp_path / "a")
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file)
        with pytest.raises(Conflict, match="session id"):
            await imported(storage, file, "bob")
        other = file.replace(b'"session_id":"s"', b'"session_id":"z"').replace(b'"id":"s"', b'"id":"z"', 1)
        with pytest.raises(Conflict, match="turn id"):
            await imported(storage, sealed(other.splitlines()[:-1]), "bob")

        assert await exported(storage) == file
        assert await storage.sessions.list("bob", limit=5) == []
        assert len(blobs_in(tmp_path / "b")) == 2


async def test_archives_of_an_import_that_fails_at_its_end_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is the last step; when it fails nothing is left in the blob store."""
    file = await a_file(tmp_path / "a")
    async with open_storage(settings_in(tmp_path / "b")) as storage:

        async def fail(*_: object) -> None:
            raise Conflict("somebody else was faster")

        monkeypatch.setattr(storage.copies, "add", fail)
        with pytest.raises(Conflict):
            await imported(storage, file)

    assert blobs_in(tmp_path / "b") == []


async def test_archives_out_of_proportion_are_refused(tmp_path: Path) -> None:
    """A small file with a thousand versions of the same messages must not fill the blob store."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        await write_past(storage, "s", TALK)
        await compress_past(storage, "s", 4)
        lines = (await exported(storage)).splitlines()[:-1]
    (at,) = [at for at, line in enumerate(lines) if b'"kind":"compression"' in line]
    rivals = [lines[at].replace(b'"version":1', b'"version":%d' % number) for number in range(1, 40)]
    lines[at : at + 1] = rivals
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with pytest.raises(BadImport, match="too often"):
            await imported(storage, sealed(lines))

        assert await is_empty(storage)
        assert blobs_in(tmp_path / "b") == []


async def test_rival_versions_that_undo_made_are_kept(tmp_path: Path) -> None:
    """Two versions that begin at the same message, one of them in force, survive the way."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        await write_past(storage, "s", TALK)
        await compress_past(storage, "s", 2)
        await storage.compressions.activate("s", None)
        await compress_past(storage, "s", 4)
        file = await exported(storage)
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file)

        assert [row.parent for row in await storage.compressions.list("s")] == [None, None]
        assert await exported(storage) == file
