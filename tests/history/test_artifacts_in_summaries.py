"""A summary lists the artifacts of what it covers, whatever the model writes."""

from collections.abc import AsyncGenerator, Collection, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.artifacts.artifact_store import Origin
from gateway.artifacts.content import text_content
from gateway.history.compression.compressor import Compressor
from gateway.history.summaries.kept_facts import complete
from gateway.history.summaries.listed_artifacts import MAX_ARTIFACTS, listed, named_in
from gateway.history.summaries.session_summaries import SessionSummariser
from gateway.history.summaries.summary import Reference, SessionSummary, render, to_markdown
from gateway.history.tokens import TokenMeter
from gateway.history.transcript import fold, view
from gateway.ids import new_artifact_ref
from gateway.storage.artifacts import Chunk
from tests.history.compressing import MODEL, TEXT, Session, talk
from tests.history.copying import artifact_store_of
from tests.history.scripted import ScriptedModel, call, result, results, says, stored, summary, user
from tests.product import (
    ArtifactRow,
    Attached,
    Message,
    ModelCalls,
    SqliteDatabase,
    attached_block,
    estimate_tokens,
    load_settings,
    storage_on,
    text_block,
)
from tests.storage.writing import OWNER

BARE = SessionSummary(goal="Plan a trip.", progress=["Began."])
ONE, TWO, THREE = "ART-0000000001", "ART-0000000002", "ART-0000000003"


def row(ref: str, name: str | None = "订单.json", lines: int | None = 52_301) -> ArtifactRow:
    return ArtifactRow(
        owner=OWNER,
        ref=ref,
        mime="application/json",
        kind="json",
        size=2_000_000,
        lines=lines,
        sha256="0" * 64,
        chunks=[Chunk("0" * 64, 1)],
        path="artifacts/x",
        compact="",
        created_at=1,
        expires_at=2,
        name=name,
    )


def attached(ref: str) -> Message:
    file = Attached(ref=ref, name="a.csv", mime="text/csv", size=9, shown="text", text="x")
    return Message("user", [attached_block(file), text_block("look")])


def completed(
    *messages: Message,
    known: Collection[str],
    written: SessionSummary = BARE,
    previous: SessionSummary | None = None,
    most_tokens: int = 2000,
) -> SessionSummary:
    """What comes of `written` when these references are known."""
    read, rows = stored(*messages), {ref: row(ref) for ref in known}
    refs = named_in(read, previous, written)
    return complete(
        written,
        read,
        previous=previous,
        questions=(),
        answered=(),
        artifacts=listed(refs, rows, previous, written, most_tokens=most_tokens),
        most_tokens=most_tokens,
    )


def listing(*references: Reference, summary: SessionSummary = BARE) -> SessionSummary:
    """A summary that lists these."""
    return summary.model_copy(update={"artifacts": list(references)})


def refs_of(known: SessionSummary) -> list[str]:
    return [each.ref for each in known.artifacts]


def test_what_was_made_attached_or_read_is_listed_with_its_name_type_and_size() -> None:
    """Found in results, in arguments and in attachments."""
    kept = completed(
        attached(ONE),
        says(call("read_artifact", "1", ref=TWO), call("mail", "2", body={"$artifact": ONE})),
        results(result("1"), result("2", f"{THREE}: application/json. It is kept aside.")),
        known=[ONE, TWO, THREE],
    )

    assert refs_of(kept) == [ONE, THREE, TWO]
    assert kept.artifacts[0].desc == "订单.json, application/json, 52,301 lines / 2.0 MB"
    assert f"- {ONE}: 订单.json, application/json" in to_markdown(kept)


def test_a_result_of_several_blocks_is_read() -> None:
    """As those of MCP servers are."""
    blocks = [{"type": "text", "text": f"see {ONE}"}, {"type": "image"}]
    message = Message("user", [{"type": "tool_result", "tool_use_id": "c", "content": blocks}])

    assert refs_of(completed(user("x"), says(call("t", "c")), message, known=[ONE])) == [ONE]


def test_only_what_is_there_is_listed() -> None:
    """Neither what a model or a tool made up, nor what was deleted since."""
    written = listing(Reference(ref=TWO, desc="made up"))
    previous = listing(Reference(ref=THREE, desc="gone"))
    messages = [says(call("t", "1")), results(result("1", f"{ONE} and ART-zzzzzzzzzz"))]

    kept = completed(user("x"), *messages, known=[ONE], written=written, previous=previous)

    assert refs_of(kept) == [ONE]


def test_what_a_summary_says_of_an_artifact_is_kept_beside_the_facts() -> None:
    """From version to version, without saying either twice; paths and addresses stay as they were written."""
    path = Reference(ref="/srv/a.csv", desc="the source")
    first = listing(path, Reference(ref=ONE, locator="$.orders", desc="orders of 2025"))
    known = completed(attached(ONE), known=[ONE], written=first)
    again = completed(user("more"), known=[ONE], written=known, previous=known)
    silent = completed(user("more"), known=[ONE], written=BARE, previous=again)

    reference = Reference(
        ref=ONE,
        locator="$.orders",
        desc="订单.json, application/json, 52,301 lines / 2.0 MB: orders of 2025",
    )
    assert known.artifacts == again.artifacts == [path, reference]
    assert silent.artifacts == [reference]


def test_those_used_most_come_first_then_the_newest_and_there_are_not_too_many() -> None:
    """Thirty at most."""
    refs = [f"ART-00000000{n:02}" for n in range(40)]
    messages = [
        message
        for n, ref in enumerate(refs)
        for message in (says(call("t", f"c{n}")), results(result(f"c{n}", ref)))
    ]
    again = [says(call("read_artifact", "r", ref=refs[3])), results(result("r"))]

    kept = completed(user("go"), *messages, *again, known=refs, most_tokens=10**5)

    assert refs_of(kept) == [refs[3], *reversed(refs[40 - MAX_ARTIFACTS + 1 :])]


def test_artifacts_leave_room_for_what_was_said() -> None:
    """They take a third of a summary at most, and old steps make room for them."""
    refs = [f"ART-00000000{n:02}" for n in range(30)]
    messages = [says(call("t", "c")), results(result("c", " ".join(refs)))]
    written = SessionSummary(goal="x", progress=[f"Step {n} was done as planned." for n in range(60)])
    most = estimate_tokens(to_markdown(written))

    kept = completed(user("go"), *messages, known=refs, written=written, most_tokens=most)
    section = to_markdown(listing(*kept.artifacts, summary=SessionSummary()))

    assert 3 < len(kept.artifacts) < 30
    assert estimate_tokens(section) <= most // 3 + 5
    assert kept.progress[-1] == "Step 59 was done as planned."
    assert estimate_tokens(to_markdown(kept)) <= most


@given(st.lists(st.text("<>/tool_output \u202e订a\n", max_size=99), max_size=40), st.integers(200, 3000))
def test_whatever_they_are_called_the_bound_holds_and_no_name_poses_as_ours(
    names: list[str], most: int
) -> None:
    """Names are others' words: on one line, and our tags in them are none."""
    refs = [new_artifact_ref() for _ in names]
    rows: Mapping[str, ArtifactRow] = {
        ref: row(ref, name, None) for ref, name in zip(refs, names, strict=True)
    }
    kept = complete(
        BARE,
        stored(user("x")),
        previous=None,
        questions=(),
        answered=(),
        artifacts=listed(refs, rows, most_tokens=most),
        most_tokens=most,
    )

    class Version:
        version, to_position, kept_position = 1, 1, None

    assert estimate_tokens(to_markdown(kept)) <= most
    assert len(to_markdown(listing(*kept.artifacts, summary=SessionSummary())).splitlines()) == (
        1 + len(kept.artifacts) if kept.artifacts else 0
    )
    assert render(kept, Version()).count("</conversation_summary>") == 1


def test_a_result_full_of_references_is_read_to_a_bound() -> None:
    """What a tool returns may name thousands."""
    messages = stored(results(result("c", " ".join(f"ART-{n:010}" for n in range(9000)))))

    assert len(named_in(messages)) == 500


@pytest.fixture
async def opened(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Session]:
    """A session that can be compressed, and what finds its artifacts."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await storage.sessions.create("s", OWNER, None, 1)
        yield Session(storage, ScriptedModel(summary()))


@pytest.mark.anyio
async def test_after_a_compression_the_model_still_knows_the_artifacts(
    opened: Session,
) -> None:
    """In the view, from one version to the next, and in the session's own summary; another session's
    artifact is not listed, though it is the same owner's."""
    session, storage = opened, opened.storage
    await storage.sessions.create("other", OWNER, None, 1)
    mine = await artifact_store_of(storage).put(text_content("a,b\n" * 9, "订单.csv"), Origin(OWNER, "s"))
    elsewhere = await artifact_store_of(storage).put(text_content("x"), Origin(OWNER, "other"))
    await session.add(
        user(f"看订单 {TEXT}"),
        says(call("orders", "c")),
        results(result("c", f"{mine.ref} {elsewhere.ref}")),
        says("好的"),
    )

    settings = load_settings(context_window=100_000, model_attempts=1, summary_tokens=600)
    summariser = SessionSummariser(
        sessions=storage.sessions,
        summaries=storage.summaries,
        calls=ModelCalls(session.model, settings),
        settings=settings,
        instructions=lambda: "Summarise.",
        exclusive=storage.exclusive,
        used=storage.artifacts.used,
    )
    compressor = Compressor(
        sessions=storage.sessions,
        compressions=storage.compressions,
        orphans=storage.orphans,
        blobs=storage.blobs,
        summariser=summariser,
        meter=TokenMeter(),
        settings=settings,
        exclusive=storage.exclusive,
    )
    for _ in range(2):
        for turn in talk(6, TEXT):
            await session.add(*turn)
        version = await compressor.compress("s", model=MODEL, trigger="manual", notify=session.notified)
        assert [each["ref"] for each in version.summary["artifacts"]] == [mine.ref]

    [first, *_] = fold(view(await storage.sessions.history("s")))
    assert f"{mine.ref}: 订单.csv, " in first.content[0]["text"]
    known = await storage.sessions.get("s", OWNER)
    whole = await summariser.summarise_session(known, model=MODEL, trigger="manual")
    assert whole.summary["artifacts"][0]["ref"] == mine.ref
