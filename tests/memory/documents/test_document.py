"""What a file of a document says: read strictly, written always the same."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.files.front_matter import MAX_SIZE as MAX_FRONT_MATTER
from gateway.memory.documents.document import (
    MAX_CONTENT,
    Key,
    as_bytes,
    document_of,
    fields_of,
    file_name,
    iso,
    milliseconds,
)
from gateway.memory.documents.folder import MAX_SIZE, numbered, unnumbered
from gateway.memory.documents.reference_file import reference_of
from gateway.memory.validation import indexed
from gateway.storage.memories import EVERYBODY
from tests.memory.documents.filing import NOON, document, fields

COMPLETE = """{
  "id": "brand-1",
  "type": "reference",
  "content": "主色是 #0A84FF。\\nUse it sparingly.",
  "snippet": "主色 #0A84FF",
  "skill": "logo-design",
  "skillDescription": "How we draw logos.",
  "reference": "brand/colours.md",
  "createdAt": 1795161600000,
  "updatedAt": 1795176000000,
  "meta": {
    "name": "品牌颜色",
    "description": "The colours of the brand."
  }
}
"""


def test_a_complete_file_is_written_as_it_was_read() -> None:
    """Every field has its place, dates are ISO 8601 in UTC, and Chinese stays readable."""
    read = document_of(fields_of(COMPLETE.encode()), 0)

    assert as_bytes(read).decode() == COMPLETE
    assert (read.created_at, read.updated_at) == (NOON - 4 * 3_600_000, NOON)
    assert read.key == ("logo-design", "reference", "brand/colours.md")


def test_a_document_is_a_memory_that_everybody_sees() -> None:
    """Whoever asks, it is found; no user owns it, and it is found by all its names."""
    read = document_of(fields_of(COMPLETE.encode()), 0)

    row = read.as_row

    assert row.audience == EVERYBODY
    assert (row.source, row.user_id, row.type) == ("document", "", "reference")
    assert (row.summary, row.skill, row.reference) == ("主色 #0A84FF", "logo-design", "brand/colours.md")
    assert row.recallable
    (found,) = indexed(row)
    assert {"品牌", "draw", "spare", "logo"} <= set(found.tokens)


def test_what_a_file_leaves_out_is_filled_in() -> None:
    """The id follows from skill, type and reference, the times are the file's, the name is the reference."""
    bare = {"type": "reference", "content": "x", "skill": "排版", "reference": "网格", "snippet": None}

    read = document_of(bare, NOON)

    assert read.id == f"d_{Key('排版', 'reference', '网格').digest}"
    assert (read.created_at, read.updated_at) == (NOON, NOON)
    assert read.meta.name == "网格"
    assert document_of({**bare, "updatedAt": NOON + 5}, NOON).created_at == NOON + 5


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"content": ""}, "content: must not be empty"),
        ({"content": " \u200b\x00 "}, "content: must not be empty"),
        ({"content": 7}, "content: must be text"),
        ({"content": None}, "content is missing"),
        ({"content": "字" * (MAX_CONTENT + 1)}, "content: must have at most 200,000 characters"),
        ({"type": "fact"}, "type: must be 'skill' or 'reference'"),
        ({"skill": "  "}, "skill: must not be empty"),
        ({"id": "m_0123456789abcdef"}, "id: must be 1 to 64 letters, digits, _ and -, and not begin with m_"),
        ({"id": "../up"}, "id: must be 1 to 64 letters, digits, _ and -, and not begin with m_"),
        ({"updatedAt": "soon"}, "updatedAt: must be a date such as 2026-11-20T08:00:00Z"),
        ({"updatedAt": True}, "updatedAt: must be a date"),
        ({"updatedAt": -1}, "updatedAt: must be a date"),
        ({"updatedAt": "0001-01-01T00:00:00+23:59"}, "updatedAt: must be a date"),
        ({"createdAt": 10**20}, "createdAt: must be a date"),
        ({"updated_at": 5}, "updated_at is no field of a document"),
        ({"meta": {"tags": []}}, "meta.tags is no field of a document"),
        ({"meta": "x"}, "meta: must be"),
    ],
)
def test_a_wrong_field_is_named_without_its_value(wrong: dict[str, Any], message: str) -> None:
    """The message says which field it is and what it must be."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        document_of(fields() | wrong, NOON)


@pytest.mark.parametrize(
    "broken", [b"", b"{", b'{"type": "skill", "con', b"[]", b"null", b"\xff\xfe{}", b"NaN"]
)
def test_what_is_no_json_object_is_refused(broken: bytes) -> None:
    """Half a file above all; what follows a byte order mark is read."""
    with pytest.raises(ValueError, match="JSON"):
        fields_of(broken)

    assert fields_of(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@given(st.integers(0, 253_402_300_799_999))
def test_a_moment_survives_being_written(at: int) -> None:
    """To the millisecond, as a date and as it stands in a file."""
    written = json.loads(as_bytes(document_of(fields() | {"createdAt": iso(at)}, NOON)))["createdAt"]

    assert milliseconds(iso(at)) == milliseconds(written) == at


def test_numbers_are_seconds_or_milliseconds_and_files_have_milliseconds() -> None:
    """A number before 1973 in milliseconds is one in seconds, with or without a fraction, and digits are a
    number."""
    ways = (NOON, NOON // 1000, NOON / 1000, float(NOON), str(NOON), str(NOON // 1000))

    assert {milliseconds(way) for way in ways} == {NOON}
    assert (
        json.loads(as_bytes(document_of(fields() | {"updatedAt": NOON // 1000}, NOON)))["updatedAt"] == NOON
    )


def test_dates_are_read_in_every_zone() -> None:
    """One without a zone is in UTC."""
    ways = ("2026-11-20T12:00:00Z", "2026-11-20T20:00:00+08:00", "2026-11-20 12:00", " 2026-11-20T12:00:00 ")

    assert {milliseconds(way) for way in ways} == {NOON}


@given(content=st.text(min_size=1), skill=st.text(min_size=1), name=st.text())
def test_writing_and_reading_changes_nothing(content: str, skill: str, name: str) -> None:
    """Whatever the text, the file says the same document, and the same bytes come of it again."""
    try:
        first = document(content, skill=skill[:200], meta={"name": name[:200]})
    except ValueError:
        return  # nothing visible is in it

    again = document_of(fields_of(as_bytes(first)), 0)

    assert again == first
    assert as_bytes(again) == as_bytes(first)


def test_the_longest_document_is_a_file_that_can_be_read() -> None:
    """Whatever the bounds of the fields allow, the bound of the file does."""
    widest = "😀" * 200_000
    most = document(widest, skillDescription=widest[:10_000], snippet=widest[:2_000], skill=widest[:200])

    assert len(as_bytes(most)) <= MAX_SIZE


@given(st.text(), st.sampled_from(["skill", "reference"]), st.text())
def test_any_skill_has_a_safe_file_name(skill: str, kind: Any, reference: str) -> None:
    """One part of a path, not hidden, short enough for every file system, nothing that a shell would read."""
    name = file_name(
        Key(skill.encode(errors="replace").decode(), kind, reference.encode(errors="replace").decode())
    )

    assert Path(name).name == name
    assert name.isprintable()
    assert len(name.encode()) <= 255
    assert name[0] not in ".-"
    assert not set(name) & set('/\\:*?"<>| \n\0')
    assert name.endswith(".json")
    assert unnumbered(name) == unnumbered(numbered(name, 2)) == name


def test_chinese_stays_in_file_names() -> None:
    """A name is read by people; the hash tells apart what looks alike."""
    assert file_name(Key("标志 设计", "skill", "")).startswith("标志_设计-skill-")
    assert file_name(Key("a/b", "skill", "")) != file_name(Key("a:b", "skill", ""))
    assert file_name(Key("a", "skill", "b")) != file_name(Key("a", "skill", "c"))


def test_markdown_with_front_matter_is_a_reference() -> None:
    """Its front matter may say other things too, for other programs; scalars are text."""
    text = (
        "---\r\ntitle: 颜色\nsummary: 'Our: colours'\nskill: 标志设计\nupdatedAt: 2026-11-20T12:00:00Z\n"
        "version: 1.10\ntags: [a]\n---\r\n\r\n# 主色\r\n\n---\nDeep blue.\n"
    )

    read = reference_of(text.encode(), "references/colours.md", 5)

    assert read.content == "# 主色\n\n---\nDeep blue."
    assert read.key == ("标志设计", "reference", "colours")
    assert (read.meta.name, read.meta.description) == ("颜色", "Our: colours")
    assert read.updated_at == NOON
    assert reference_of(b"---\nname: x\n---\ny", "a.md", 5).key == ("references", "reference", "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"# Colours", "does not begin with front matter"),
        (b"---\nname: x\n", "front matter does not end"),
        (b"---\n" + b"a" * MAX_FRONT_MATTER + b"\n---\nx", "front matter is longer than"),
        (b"---\n- a\n---\nx", "not a list of `key: value` lines"),
        (b"---\nname: 'x\n---\ny", "line 3: found unexpected end of stream"),
        (b"---\n" + b"[" * 1_000 + b"\n---\ny", "nested more than 8 deep"),
        (b"---\nname: \x07\n---\ny", "a character that YAML does not allow"),
        (b"---\nname: !!python/object:os.system x\n---\n", "content: must not be empty"),
        (b"---\nname: x\n---\n\xff", "it is not UTF-8 text at byte 16"),
    ],
)
def test_markdown_that_cannot_be_used_is_refused(text: bytes, message: str) -> None:
    """With what to mend."""
    with pytest.raises(ValueError, match=re.escape(message)):
        reference_of(text, "a.md", 0)


def test_front_matter_cannot_swell() -> None:
    """Aliases, of which YAML bombs are made, are refused."""
    levels = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]\n" for n in range(30))
    text = f"---\nl0: &l0 [x]\n{levels}name: x\n---\ny"

    with pytest.raises(ValueError, match="line 2: anchors and aliases"):
        reference_of(text.encode(), "a.md", 0)


def test_the_bytes_are_json() -> None:
    """What others read it with reads it too."""
    assert json.loads(as_bytes(document()))["skill"] == "标志设计"
