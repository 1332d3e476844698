"""A session to share as one HTML file: as `replay_page` draws it, but that answers are formatted."""

from typing import Any

from markdown_it import MarkdownIt

from gateway.session_pages.markdown_to_share import leads_elsewhere
from gateway.session_pages.page_to_share import (
    Remark,
    Shared,
    SharedPages,
    SharedText,
    Sources,
    UsedTool,
    shared,
)
from gateway.session_pages.replay_page import CLOSING, details, note, opening, paragraph, text
from gateway.session_pages.replayed_turn import ReplayedTurn
from gateway.session_pages.words import moment, printable

MAX_FORMATTED, MAX_BRACKETS = 200_000, 2_000
"""Characters, and brackets among them, of a text that is formatted: brackets cost the square of their number,
these a hundredth of a second. Of a larger one every sign is shown."""

# No raw HTML, no images (whose hosts would notice each reader), no links but those that lead elsewhere.
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
_MARKDOWN.disable("image")
_MARKDOWN.validateLink = leads_elsewhere


def begin(session: dict[str, Any]) -> str:
    """How the file begins. `session` is the server's description of it."""
    return opening(session, f"Made {moment(session['created_at'])}")


def draw(turn: ReplayedTurn) -> str:
    """An article."""
    about = f' <span class="dim">{text(turn.model)}</span>' if turn.model else ""
    parts = [f"<article>\n<header><time>{moment(turn.began)}</time>{about}</header>\n"]
    if turn.input is not None:
        parts.append(paragraph(turn.input, "user") + "\n")
    if turn.files:
        parts.append(paragraph(f"📎 {', '.join(turn.files)}", "user") + "\n")
    return "".join([*parts, *(_drawn(each) for each in shared(turn)), "</article>\n"])


def formatted(markdown: str) -> str:
    """Markdown as HTML in which nothing is left of HTML in it."""
    written = printable(markdown)
    if len(written) > MAX_FORMATTED or written.count("[") > MAX_BRACKETS:
        return paragraph(written)
    tokens = _MARKDOWN.parse(written)
    for token in (each for outer in tokens for each in (outer, *(outer.children or ()))):
        token.attrs.pop("style", None)  # the policy of the page forbids it
        if token.type == "link_open":
            token.attrs["rel"] = "noopener noreferrer nofollow"
    html: str = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return f'<div class="answer" dir="auto">{html}</div>\n'


def _drawn(block: Shared) -> str:
    match block:
        case SharedText(written):
            return formatted(written)
        case UsedTool(title, arguments, content):
            result = f'<pre dir="auto">{text(content)}</pre>' if content is not None else ""
            return details(title, f"<pre>{text(arguments)}</pre>{result}") + "\n"
        case Sources(title, sources):
            hits = "".join(
                f"<li><strong>{text(name)}</strong>{paragraph(snippet)}</li>" for name, snippet in sources
            )
            return details(title, f"<ol>{hits}</ol>") + "\n"
        case Remark(line):
            return note(line, bad=True) + "\n"


HTML = SharedPages(begin, draw, CLOSING, "html", "text/html; charset=utf-8")
