"""A session to share as one Markdown file. What was written as Markdown stays so, but for what makes the
program of its reader load or run something: raw HTML, images, links that lead nowhere else."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from gateway.session_pages.page_to_share import (
    Remark,
    Shared,
    SharedPages,
    SharedText,
    Sources,
    UsedTool,
    shared,
)
from gateway.session_pages.replayed_turn import ReplayedTurn
from gateway.session_pages.words import moment, printable

MAX_READ, MAX_BRACKETS = 200_000, 2_000
"""Characters, and brackets among them, of a text that is read as Markdown to see what is in it; in a larger
one all that might be HTML, an image or a link is only text."""
ROUNDS = 3
"""In which a text is mended before all that might be HTML in it is only text."""

_SCHEMES = frozenset({"http", "https", "mailto"})
_READER = MarkdownIt("commonmark", {"html": True, "maxNesting": 40})
_READER.validateLink = lambda url: True
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SIGNS = re.compile(r"([\\`*_\[\]<>#|~&])")
_TICKS = re.compile(r"`{3,}")


def leads_elsewhere(url: str) -> bool:
    """Whether a link may stay one: to another page, or an address."""
    try:
        return urlsplit(url.strip()).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def begin(session: dict[str, Any]) -> str:
    """How the file begins. `session` is the server's description of it."""
    return f"# {line(session.get('title') or session['id'])}\n\nMade {moment(session['created_at'])}\n"


def draw(turn: ReplayedTurn) -> str:
    """A turn: the user's words as a quotation, then the answer."""
    parts = [f"---\n\n**User** · {moment(turn.began)}"]
    if turn.input is not None:
        parts.append(_quoted(turn.input))
    if turn.files:
        parts.append("\n".join(f"- 📎 {line(name)}" for name in turn.files))
    parts.append(f"**Assistant** · {line(turn.model)}" if turn.model else "**Assistant**")
    return "\n" + "\n\n".join([*parts, *map(_drawn, shared(turn))]) + "\n"


def line(words: str) -> str:
    """A line of text in which no sign means anything."""
    return _SIGNS.sub(r"\\\1", " ".join(printable(words).split()))


def harmless(markdown: str) -> str:
    """The same Markdown without raw HTML, images and links that do not lead elsewhere: they are shown as they
    were written. A block of code that is left open ends with it."""
    lines = printable(markdown).split("\n")
    if len(markdown) <= MAX_READ and markdown.count("[") <= MAX_BRACKETS:
        for _ in range(ROUNDS):
            found: dict[str, Any] = {}
            bad = [token for token in _READER.parse("\n".join(lines), found) if _is_bad(token)]
            references = found.get("references", {}).values()
            if not all(leads_elsewhere(each["href"]) for each in references):
                lines = [each.replace("]:", "]\\:") for each in lines]
            elif not bad:
                return "\n".join([*lines, *_open_fence(lines)])
            for number in {number for token in bad for number in range(*(token.map or (0, len(lines))))}:
                lines[number] = _repaired(lines[number])
    return "\n".join(_repaired(each).replace("]:", "]\\:") for each in lines)


def _quoted(markdown: str, indent: str = "") -> str:
    return "\n".join(f"{indent}> {each}" for each in harmless(markdown).split("\n"))


def _open_fence(lines: Sequence[str]) -> Sequence[str]:
    """What ends the block of code that the lines leave open, if they do."""
    last = next(reversed(_READER.parse("\n".join(lines))), None)
    if last is None or last.type != "fence":
        return ()
    begin, _ = last.map or (0, 0)
    closed = re.fullmatch(rf" {{0,3}}{re.escape(last.markup[0])}{{{len(last.markup)},}}\s*", lines[-1])
    return () if closed and len(lines) > begin + 1 else (last.markup,)


def _is_bad(token: Token) -> bool:
    if token.type == "inline":
        return any(map(_is_bad, token.children or ()))
    if token.type == "link_open":
        return not leads_elsewhere(str(token.attrs.get("href", "")))
    return token.type in {"html_block", "html_inline", "image"}


def _repaired(written: str) -> str:
    return _TAG.sub("&lt;", written).replace("![", "!\\[").replace("](", "]\\(")


def _drawn(block: Shared) -> str:
    match block:
        case SharedText(written):
            return harmless(written)
        case UsedTool(title, arguments, content):
            fenced = [
                _fenced(arguments, "json"),
                *([_fenced(content, "text")] if content is not None else []),
            ]
            return _folded(title, "\n\n".join(fenced))
        case Sources(title, sources):
            hits = (f"- **{line(name)}**\n\n{_quoted(snippet, '  ')}" for name, snippet in sources)
            return _folded(title, "\n".join(hits))
        case Remark(words):
            return f"_{line(words)}_"


def _folded(title: str, inside: str) -> str:
    # Entities: within HTML some readers format Markdown, others do not.
    summary = _SIGNS.sub(lambda sign: f"&#{ord(sign[0])};", " ".join(printable(title).split()))
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"


def _fenced(content: str, language: str) -> str:
    content = printable(content)
    longest = max((len(ticks) for ticks in _TICKS.findall(content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{content}\n{fence}"


MARKDOWN = SharedPages(begin, draw, "", "md", "text/markdown; charset=utf-8")
