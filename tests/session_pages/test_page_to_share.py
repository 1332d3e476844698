"""Pages to share: what is in them, and what can never be."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gateway.session_pages.html_to_share import HTML, formatted
from gateway.session_pages.markdown_to_share import MARKDOWN, harmless, line
from gateway.session_pages.replayed_turn import ReplayedTurn, read_turn

NASTY = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![seen](http://elsewhere.test/pixel.png)",
    "![seen][pixel]\n\n[pixel]: http://elsewhere.test/pixel.png",
    "[click](javascript:alert(1))",
    "[click](JaVaScRiPt&colon;alert(1))",
    "[click](data:text/html;base64,PHNjcmlwdD4=)",
    "[click][it]\n\n[it]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "[relative](/api/sessions)",
    "</div></article><iframe src='//elsewhere.test'>",
    "<style>@import url(http://elsewhere.test)</style>",
    "<svg/onload=alert(1)>",
    "<!-- <img src=x> --!><img src=x>",
    "| a |\n|:-:|\n| <img src=x> ![i](http://elsewhere.test) |",
    "> <details open ontoggle=alert(1)>",
    "`<b>` <b>\n```\n<script>\n",
    "- ```\n  <script>\n<script>",
    '<a href="http://x.test" style="position:fixed">all</a>',
    "\x1b[31m\x00<scr\x00ipt>",
]
PLAIN = MarkdownIt("commonmark", {"html": True})


class Elements(HTMLParser):
    """The elements of a page and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


HARMLESS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "p", "article"),
    *("header", "time", "span", "div", "details", "summary", "pre", "code", "ol", "ul", "li", "strong", "em"),
    *("a", "blockquote", "hr", "br", "s", "table", "thead", "tbody", "tr", "th", "td"),
}


def check_page(page: str) -> None:
    """Raises AssertionError: something in it could run, or ask another host."""
    for tag, attributes in Elements(page).found:
        assert tag in HARMLESS, tag
        assert not {name for name in attributes if name.startswith("on") or name in {"src", "style"}}
        if "href" in attributes:
            assert re.match(r"(https?|mailto):", attributes["href"] or "", re.IGNORECASE), attributes
            assert attributes["rel"] == "noopener noreferrer nofollow"


def check_markdown(written: str) -> None:
    """The same of Markdown, for the reader of a program that allows everything."""
    for tag, attributes in Elements(PLAIN.render(written)).found:
        assert tag in HARMLESS, (tag, written)
        assert re.match(r"(https?|mailto):", attributes.get("href") or "http:", re.IGNORECASE), attributes


@pytest.mark.parametrize("nasty", NASTY)
def test_nothing_that_somebody_wrote_runs_or_loads(nasty: str) -> None:
    """In the answer, in the message, in arguments and results, names, titles and sources."""
    turn, session = told(nasty), {"id": "s", "title": nasty, "created_at": 1_795_187_109_422}
    page = HTML.begin(session) + HTML.draw(turn) + HTML.ending
    check_page(page)
    assert "default-src 'none'" in page
    document = MARKDOWN.begin(session) + MARKDOWN.draw(turn)
    check_markdown(document)
    check_markdown(re.sub(r"</?(details|summary)>", "", document))
    assert document.count("**User**") == 1


@given(
    st.lists(
        st.sampled_from([*NASTY, "\n", "\n\n", "> ", "- ", "  ", "`", "```", "~~~\n", "\\", "&lt;", "|"])
    )
)
def test_no_mixture_of_it_does(pieces: list[str]) -> None:
    written = "".join(pieces)
    check_page(formatted(written))
    check_markdown(harmless(written))
    check_markdown(line(written))


@pytest.mark.parametrize(
    "written",
    [
        "Hello **world**, see [this](https://example.test/a?b=c) and <https://example.test>.",
        "```html\n<script>alert(1)</script>\n```",
        "`List<int>` and 3 < 4 & 5 > 2",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "# 标题\n\n- 一\n- 二\n\n> 引用",
    ],
)
def test_what_is_harmless_stays_as_it_was_written(written: str) -> None:
    assert harmless(written) == written


def test_a_block_of_code_that_is_left_open_does_not_swallow_the_rest() -> None:
    assert harmless("see:\n```py\nprint()") == "see:\n```py\nprint()\n```"
    assert harmless("```\ndone\n```") == "```\ndone\n```"


def test_markdown_of_an_answer_is_formatted() -> None:
    drawn = formatted("Hello **world**\n\n| a |\n|:-:|\n| 1 |\n\n```py\nx<y\n```")
    assert "<strong>world</strong>" in drawn
    assert "<td>1</td>" in drawn
    assert '<code class="language-py">x&lt;y' in drawn


def test_a_text_that_would_take_long_is_shown_as_it_is() -> None:
    many = "[" * 50_000 + "<script>"
    assert formatted(many).count("[") == 50_000
    assert harmless(many).endswith("&lt;script>")


def test_what_is_remembered_and_thought_is_not_shared() -> None:
    """Nor are costs, ids, and what an attempt said that was made anew."""
    turn = told("fine", thinking="SECRET thought")
    session = {"id": "s-secret", "title": None, "created_at": 1_795_187_109_422}
    for pages in (HTML, MARKDOWN):
        shared = pages.draw(turn)
        assert "SECRET" not in shared
        assert "t_1" not in shared
        assert all(kept in shared for kept in ("calculator", "fine", "The handbook", "model-1"))
        assert "s-secret" in pages.begin(session)


def test_a_source_stays_the_markdown_that_it_is() -> None:
    """Line by line below its title, so that a list in it is a list."""
    document = MARKDOWN.draw(told("- one\n- two"))

    assert "- **The handbook**\n\n  > - one\n  > - two" in document


def told(said: str, thinking: str = "hm") -> ReplayedTurn:
    """A turn in which somebody says that everywhere."""
    result: dict[str, Any] = {"duration_ms": 3, "status": "ok"}
    memory = {"id": "m", "source": "memory", "snippet": "SECRET snippet", "score": 1}
    hit = {"id": "d", "source": said, "snippet": said, "score": 1, "title": "The handbook"}
    story: list[tuple[str, dict[str, Any]]] = [
        ("turn_start", {"input": said, "model": "model-1", "attachments": [{"name": said}]}),
        ("retrieval", {"query": "SECRET", "source": "memory", "results": [memory], "tokens": 1}),
        ("retrieval", {"query": said, "source": "documents", "results": [hit], "tokens": 1}),
        ("iteration_start", {"attempt": 1, "model": "model-1"}),
        ("text", {"text": "SECRET attempt"}),
        ("iteration_superseded", {"attempt": 1, "reason": "upstream_error"}),
        ("thinking", {"text": thinking}),
        ("text", {"text": said}),
        ("tool_call", {"name": "calculator", "arguments": {said: said}}),
        ("tool_result", {"name": "calculator", "content": said, **result}),
        ("tool_call", {"name": "manage_memory", "arguments": {"content": "SECRET"}}),
        ("tool_result", {"name": "manage_memory", "content": "SECRET", **result}),
        (
            "memory",
            {"op": "remembered", "memory_id": "m", "kind": "fact", "content": "SECRET", "reason": "x"},
        ),
        ("error", {"code": "upstream_error", "message": said, "retryable": False}),
        ("done", {"status": "failed", "iterations": 1, "duration_ms": 9, "cost": 7.77}),
    ]
    calls = {8: "c1", 9: "c1", 10: "c2", 11: "c2"}
    return read_turn(
        "t_1",
        [
            {"type": kind, "ts": 1_000 + seq, "data": data, "turn_id": "t_1", "seq": seq}
            | ({"tool_call_id": calls[seq]} if seq in calls else {"iteration": 1})
            for seq, (kind, data) in enumerate(story)
        ],
    )
