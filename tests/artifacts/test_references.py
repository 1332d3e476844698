"""Artifacts as arguments of a call: contents in place of references, with the rights of the turn's user."""

import base64
from typing import Any

import orjson
import pytest

from gateway.artifacts.artifact_store import ArtifactStore, Origin
from gateway.artifacts.content import bytes_content, text_content
from gateway.artifacts.tool_arguments import MAX_REFERENCES, References
from gateway.wiring import open_artifact_store
from tests.product import ArtifactRow, BadArguments, Settings, Storage, ToolError

pytestmark = pytest.mark.anyio

ORDERS = {"orders": [{"id": 1, "city": "上海"}, {"id": 2, "city": "Oslo"}], "$artifact": "ART-0000000000"}
SESSION = "s"


@pytest.fixture
async def artifact_store(settings: Settings, storage: Storage) -> ArtifactStore:
    await storage.sessions.create(SESSION, "anna", None, 1)
    return open_artifact_store(settings, storage)


@pytest.fixture
async def row(artifact_store: ArtifactStore) -> ArtifactRow:
    return await artifact_store.put(text_content(orjson.dumps(ORDERS).decode()), Origin("anna"))


async def filled(
    artifact_store: ArtifactStore, arguments: dict[str, Any], *, owner: str = "anna", most: int = 10**6
) -> Any:
    return await References(artifact_store, most_bytes=most).filled(
        arguments, owner=owner, session_id=SESSION
    )


async def test_a_reference_stands_for_the_whole_text_wherever_it_is(
    artifact_store: ArtifactStore, row: ArtifactRow
) -> None:
    arguments = {"body": {"parts": [{"$artifact": row.ref}, "and more"]}, "title": "订单"}

    found = await filled(artifact_store, arguments)

    assert found == {"body": {"parts": [orjson.dumps(ORDERS).decode(), "and more"]}, "title": "订单"}
    assert arguments["body"] == {"parts": [{"$artifact": row.ref}, "and more"]}


async def test_a_path_stands_for_the_values_of_a_part(
    artifact_store: ArtifactStore, row: ArtifactRow
) -> None:
    """A path that can have one match only is its value, any other a list of whatever it finds, so that the
    type does not depend on the content; and what stands in a content is no reference."""
    found = await filled(
        artifact_store,
        {
            "whole": {"$artifact": row.ref, "json_path": "$"},
            "city": {"$artifact": row.ref, "json_path": "$.orders[0].city"},
            "ids": {"$artifact": row.ref, "json_path": "$.orders[*].id"},
            "one": {"$artifact": row.ref, "json_path": "$.orders[?@.city == 'Oslo'].id"},
            "none": {"$artifact": row.ref, "json_path": "$.orders[?@.city == 'Rome'].id"},
        },
    )

    assert found == {"whole": ORDERS, "city": "上海", "ids": [1, 2], "one": [2], "none": []}


async def test_a_part_counts_for_what_it_is(artifact_store: ArtifactStore, row: ArtifactRow) -> None:
    """Many small parts of one large artifact fit into a call."""
    part = {"$artifact": row.ref, "json_path": "$.orders[1].city"}

    assert await filled(artifact_store, {"texts": [part] * 9}, most=row.size) == {"texts": ["Oslo"] * 9}


async def test_what_is_no_text_comes_as_base64(artifact_store: ArtifactStore) -> None:
    kept = await artifact_store.put(bytes_content(b"\x89PNG\r\n\x1a\n\x00\xff"), Origin("anna"))

    assert await filled(artifact_store, {"image": {"$artifact": kept.ref}}) == {
        "image": base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\xff").decode()
    }


async def test_without_a_reference_the_arguments_are_the_same_object(artifact_store: ArtifactStore) -> None:
    arguments = {"text": "ART-0000000000", "list": [{"a": None}]}

    assert await filled(artifact_store, arguments) is arguments


async def test_the_session_uses_what_it_passes_on(
    artifact_store: ArtifactStore, row: ArtifactRow, storage: Storage
) -> None:
    assert not await storage.artifacts.find("anna", limit=9, session_id=SESSION)
    await filled(artifact_store, {"text": {"$artifact": row.ref}})

    assert [each.ref for each in await storage.artifacts.find("anna", limit=9, session_id=SESSION)] == [
        row.ref
    ]


async def test_nobody_passes_on_what_is_anothers(artifact_store: ArtifactStore, row: ArtifactRow) -> None:
    """Told in the very words that are told of one that never was."""
    with pytest.raises(BadArguments) as foreign:
        await filled(artifact_store, {"text": {"$artifact": row.ref}}, owner="bert")
    with pytest.raises(BadArguments) as unknown:
        await filled(artifact_store, {"text": {"$artifact": "ART-zzzzzzzzzz"}})

    assert foreign.value.message.replace(row.ref, "") == unknown.value.message.replace("ART-zzzzzzzzzz", "")


@pytest.mark.parametrize(
    "given",
    [
        {"$artifact": 5},
        {"$artifact": ["ART-0000000000"]},
        {"$artifact": None},
        {"$artifact": "REF", "json_path": 5},
        {"$artifact": "REF", "lines": "1-5"},
        {"$artifact": "REF", "json_path": "$["},
        {"$artifact": "REF", "json_path": "$.nowhere"},
        {"$artifact": "REF\x00"},
        {"$artifact": "../../etc/passwd"},
    ],
)
async def test_a_reference_of_another_form_is_refused_in_words(
    artifact_store: ArtifactStore, row: ArtifactRow, given: dict[str, Any]
) -> None:
    if given["$artifact"] == "REF":
        given = given | {"$artifact": row.ref}

    with pytest.raises(BadArguments) as refused:
        await filled(artifact_store, {"text": given})

    assert len(refused.value.message) < 1000


async def test_contents_are_bounded_together(artifact_store: ArtifactStore, row: ArtifactRow) -> None:
    """By their bytes and by their number."""
    with pytest.raises(BadArguments, match="may come to 50"):
        await filled(artifact_store, {"text": {"$artifact": row.ref}}, most=50)
    with pytest.raises(BadArguments, match="may come to"):
        await filled(artifact_store, {"texts": [{"$artifact": row.ref}] * 3}, most=row.size * 2)
    with pytest.raises(BadArguments, match=f"{MAX_REFERENCES} at most"):
        await filled(artifact_store, {"texts": [{"$artifact": row.ref}] * (MAX_REFERENCES + 1)})


async def test_a_path_into_what_is_no_json_is_refused_with_one_name_of_it(
    artifact_store: ArtifactStore,
) -> None:
    kept = await artifact_store.put(bytes_content("没有结构\n".encode()), Origin("anna"))

    with pytest.raises(BadArguments) as refused:
        await filled(artifact_store, {"text": {"$artifact": kept.ref, "json_path": "$.a"}})

    assert refused.value.message.startswith(f"{kept.ref}: is text, not JSON: read it by lines=")


async def test_a_content_that_was_lost_fails_the_call_and_names_its_hash(
    artifact_store: ArtifactStore, row: ArtifactRow, storage: Storage
) -> None:
    await storage.blobs.delete(row.path)

    for reference in ({"$artifact": row.ref}, {"$artifact": row.ref, "json_path": "$.orders"}):
        with pytest.raises(ToolError, match=row.sha256):
            await filled(artifact_store, {"text": reference})
