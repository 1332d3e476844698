"""The file of a shared page: its data cannot become anything else, and its policy allows itself alone."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.session_pages import reader_page
from gateway.session_pages.reader_page import ReaderPage, load_reader, picture_line
from tests.product import NotFound
from tests.session_pages.stand_in import STAND_IN, write_stand_in
from tests.session_pages.told import SESSION, told

NASTY = (
    "</script><script>hit()</script>",
    "<!--<script>",
    "]]>",
    "\u2028",
    "&lt;/script&gt;",
    "</SCRIPT >",
    "\\u003c",
)


class Scripts(HTMLParser):
    """The elements of a page, and what is in its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.blocks: dict[str | None, str] = {}
        self.run: list[str] = []
        self._open: dict[str, str | None] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open = dict(attrs) if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._open == {}:
            self.run.append(data)
        elif self._open is not None:
            self.blocks[self._open["id"]] = data
        self._open = None


def written(
    events: Iterable[dict[str, Any]], session: dict[str, Any] = SESSION, pictures: str = "", **options: Any
) -> str:
    page = ReaderPage(STAND_IN, session, **options)
    return "".join([page.begin(), *page.events(events), page.pictures(), pictures, page.end()])


def lines(block: str) -> list[Any]:
    return [json.loads(line) for line in block.strip("\n").split("\n") if line]


def text(said: str) -> dict[str, Any]:
    return {"seq": 1, "ts": 1, "type": "text", "turn_id": "t", "data": {"text": said}}


@given(st.lists(st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=["Cs"]))))
def test_no_text_ends_the_block_that_it_is_in(pieces: list[str]) -> None:
    """Whatever is said, and whatever the title is, the page has the same elements, and a reader gets what was
    said."""
    said = "".join(pieces)
    page = Scripts(written([text(said)], session=SESSION | {"title": said or None}))

    assert page.tags == Scripts(written([text("")])).tags + (["script"] * (len(page.run) - 1))
    assert lines(page.blocks["events"])[0]["data"]["text"] == said
    assert "<" not in page.blocks["events"]


def test_a_turn_with_everything_stands_in_the_page() -> None:
    events = told("".join(NASTY))
    page = Scripts(written(events))

    assert lines(page.blocks["events"]) == events
    assert lines(page.blocks["about"]) == [
        {
            "title": "s-secret",
            "created_at": SESSION["created_at"],
            "replay": False,
            "language": None,
            "linked": False,
        }
    ]


def test_the_policy_allows_the_scripts_and_the_style_of_the_page_alone() -> None:
    """Nothing from elsewhere, no form, no base; pictures only such as stand in it."""
    page = written([text("$a$ and\n```\ncode\n```")])
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[0]

    def hashed(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src {hashed('reader()')} {hashed('formulas()')} {hashed('colours()')}",
        f"style-src {hashed('style{}')}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert Scripts(page).run == ["formulas()", "colours()", "reader()"]


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("plain words, $5 alone", []),
        ("$x$", ["formulas()"]),
        ("\\(x\\)", ["formulas()"]),
        ("\\[x\\]", ["formulas()"]),
        ("\\begin{align}a\\end{align}", ["formulas()"]),
        ("```py\na\n```", ["colours()"]),
        ("~~~\na\n~~~", ["colours()"]),
    ],
)
def test_formulas_and_colours_come_along_where_they_are_used(said: str, parts: list[str]) -> None:
    """Wherever a piece of the text ends."""
    for at in range(len(said)):
        page = Scripts(written([text(said[:at]), text(said[at:])]))
        assert page.run == [*parts, "reader()"]


def test_a_page_that_would_be_too_large_ends_early_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_page, "MAX_DATA", 1_000)
    page = Scripts(written(text("a" * 100) for _ in range(100)))

    assert 0 < len(lines(page.blocks["events"])) < 10
    assert lines(page.blocks["about"])[0]["is_cut"] is True


def test_a_picture_stands_in_the_page() -> None:
    page = Scripts(written([], pictures=picture_line("file-1", "image/png", b"\x89PNG")))

    assert lines(page.blocks["pictures"]) == [{"ref": "file-1", "address": "data:image/png;base64,iVBORw=="}]


def test_without_the_built_page_there_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="make page") as refused:
        load_reader(tmp_path)
    assert refused.value.code == "page_not_built"
    assert load_reader(write_stand_in(tmp_path)) == STAND_IN


def test_a_language_that_was_chosen_is_the_pages() -> None:
    page = written([], language="zh-Hant", replay=True)

    assert '<html lang="zh-Hant">' in page
    assert lines(Scripts(page).blocks["about"])[0]["replay"] is True
