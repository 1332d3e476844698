"""Documented memories over HTTP."""

from pathlib import Path

import pytest

from gateway.memory.documents.document import file_name
from tests.harness import running_gateway, settings_for
from tests.memory.documents.filing import document, fields, write_json, write_text

pytestmark = pytest.mark.anyio

KEYS = "anna:secret-of-anna-012,root:secret-of-root-012"
ANNA, ROOT = {"authorization": "Bearer secret-of-anna-012"}, {"authorization": "Bearer secret-of-root-012"}


async def test_documents_are_listed_deprecated_and_restored(tmp_path: Path, demo_url: str) -> None:
    """With what cannot be used, and never with a path of the machine; wrong ids and a repetition are told."""
    name, folder = file_name(document().key), tmp_path / "documents"
    write_json(folder, name, fields(id="logo", reference=None))
    write_json(folder, "bad.json", "{")
    async with running_gateway(settings_for(tmp_path / "data", demo_url, documents_dir=folder)) as client:
        listed = (await client.get("/api/documents")).json()
        gone = await client.post("/api/documents/logo/deprecate")
        twice = await client.post("/api/documents/logo/deprecate")
        after = (await client.get("/api/documents")).json()
        back = await client.post("/api/documents/logo/restore")
        missing = await client.post("/api/documents/nothing/restore")
        odd = await client.post("/api/documents/a.b/restore")

    (row,) = listed["documents"]
    assert (row["id"], row["skill"], row["file"], row["type"]) == ("logo", "标志设计", name, "skill")
    assert "reference" not in row
    assert [warning.partition(" ")[0] for warning in listed["warnings"]] == ["bad.json"]
    assert str(tmp_path) not in str(listed)
    assert (gone.status_code, gone.json()["file"]) == (200, f".deprecated/{name}")
    assert (twice.status_code, twice.json()["error"]["code"]) == (409, "conflict")
    assert (after["documents"], [each["id"] for each in after["deprecated"]]) == ([], ["logo"])
    assert (back.status_code, back.json()) == (200, row)
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "document_not_found")
    assert odd.status_code == 400


async def test_only_admins_change_documents_where_there_are_such(tmp_path: Path, demo_url: str) -> None:
    """Everybody may look."""
    folder = tmp_path / "documents"
    write_json(folder, file_name(document().key), fields(id="logo"))
    settings = settings_for(
        tmp_path / "data", demo_url, documents_dir=folder, api_keys=KEYS, admins=("root",)
    )
    async with running_gateway(settings) as client:
        seen = await client.get("/api/documents", **ANNA)
        refused = await client.post("/api/documents/logo/deprecate", **ANNA)
        done = await client.post("/api/documents/logo/deprecate", **ROOT)
        still = await client.post("/api/documents/logo/restore", **ANNA)

    assert len(seen.json()["documents"]) == 1
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert done.status_code == 200
    assert still.status_code == 403


async def test_without_memory_there_are_no_documents(tmp_path: Path, demo_url: str) -> None:
    """It is said so, with the setting."""
    async with running_gateway(settings_for(tmp_path / "data", demo_url, memory=False)) as client:
        answers = [
            await client.get("/api/documents"),
            await client.post("/api/documents/logo/deprecate"),
            await client.post("/api/documents/logo/restore"),
        ]

    for answer in answers:
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "memory_off")


async def test_the_references_of_a_skill_are_recalled_while_it_is_on(tmp_path: Path, demo_url: str) -> None:
    """In a turn of anybody; a skill that is switched off takes them along. They cannot be deprecated."""
    skill = tmp_path / "skills" / "refund-an-order"
    text = "---\nname: refund-an-order\ndescription: How refunds are made.\n---\nRead references first.\n"
    write_text(skill, "SKILL.md", text)
    write_text(skill, "references/limits.md", "# Limits\n\n500 元以上的退款要找王梅批准。")
    question = {"query": "退款谁批准?", "mode": "details"}
    settings = settings_for(tmp_path / "data", demo_url, skills_dir=tmp_path / "skills")
    async with running_gateway(settings) as client:
        (row,) = (await client.get("/api/documents")).json()["documents"]
        (hit,) = (await client.post("/api/memory/retrieve", question)).json()["results"]
        events = await client.chat("退款谁批准?")
        refused = await client.post(f"/api/documents/{row['id']}/deprecate")
        await client.http.patch("/api/skills/refund-an-order", json={"enabled": False})
        off = (await client.get("/api/documents")).json()["documents"]
        nothing = (await client.post("/api/memory/retrieve", question)).json()["results"]

    assert (row["skill"], row["reference"]) == ("refund-an-order", "references/limits.md")
    assert row["file"] == "refund-an-order/references/limits.md"
    assert (hit["id"], hit["type"]) == (row["id"], "reference")
    assert "王梅" in hit["content"]
    told = [event["data"] for event in events if event["type"] == "retrieval"]
    assert [row["id"]] in [[each["id"] for each in data["results"]] for data in told]
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert (off, nothing) == ([], [])


async def test_documents_are_bounded_and_cleaned_by_settings(tmp_path: Path, demo_url: str) -> None:
    """The newest of a skill are in use, and what is not is told; old deprecated files go."""
    folder = tmp_path / "documents"
    for number in (1, 2):
        write_json(folder, f"{number}.json", fields(f"{number}", reference=f"{number}", updatedAt=number))
    write_json(folder, ".deprecated/old.json", fields(skill="old"))
    settings = settings_for(
        tmp_path / "data",
        demo_url,
        documents_dir=folder,
        documents_per_skill=1,
        deprecated_documents_ttl=0.001,
    )
    async with running_gateway(settings) as client:
        found = (await client.get("/api/documents")).json()

    assert [row["file"] for row in found["documents"]] == ["2.json"]
    assert "1.json is left out: 1 newer ones of skill 标志设计 are in use" in str(found["warnings"])
    assert found["deprecated"] == []
    assert not (folder / ".deprecated" / "old.json").exists()
