"""Markdown as Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text), and back as far as
people write it. Pure."""

import re
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from unicodedata import east_asian_width
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_MARKS = {"strong": "*", "em": "_", "s": "~"}
_EDGE = "\u200b"
"""Slack sees a mark only beside white space or punctuation; this is none that is seen."""
_MENTION = re.compile(r"<(?=[!@#])")
_CONTROL = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_LINKED = frozenset({"http", "https", "mailto"})
_CELL = 40
"""Characters of a cell of a table that are shown at most."""


def escaped(text: str) -> str:
    """Text in which nothing means anything: no mention, no link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def harmless(markdown: str) -> str:
    """Markdown for `markdown_text`, which calls nobody."""
    return _MENTION.sub("<\u2060", markdown)


def mrkdwn(markdown: str) -> str:
    """The same in mrkdwn. What it has no form for is told in words: headings are bold, tables are code."""
    writer = _Writer()
    writer.write(_PARSER.parse(markdown))
    return "\n".join(writer.lines).strip("\n")


def plain(text: str, bot: str) -> str:
    """What a person wrote, without Slack's own signs and without calling the bot. Mentions of others stay as
    `@U…`, channels and links are told in words."""
    text = text.replace(f"<@{bot}>", "")
    text = _CONTROL.sub(_named, text)
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def _named(found: re.Match[str]) -> str:
    target, label = found[1], found[2]
    if target[0] in "@#":
        return target[0] + (label or target[1:])
    if target[0] == "!":
        return label or f"@{target[1:].partition('^')[0]}"
    return f"{label} ({target})" if label and label != target else target


class _Writer:
    """Writes block after block."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: list[int | None] = []  # of the next item of each list around; None: it has none
        self._marker = ""
        self._quotes = 0

    def write(self, tokens: Sequence[Token]) -> None:
        rest = iter(enumerate(tokens))
        for at, token in rest:
            match token.type:
                case "inline":
                    self._write_text(
                        _inline(token.children or [], bold=tokens[at - 1].type == "heading_open")
                    )
                case "fence" | "code_block":
                    self._write_code(escaped(token.content.rstrip("\n")).split("\n"))
                case "hr":
                    self.lines += ["", "─" * 12]
                case "table_open":
                    cells = [each for _, each in takewhile(lambda each: each[1].type != "table_close", rest)]
                    self._write_code(_table(cells))
                case _:
                    self._enter(token)

    def _enter(self, token: Token) -> None:
        """Begins or ends what has other blocks in it."""
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if token.nesting > 0 and not self._numbers and kind != "list_item":
            self._part(token)
        match kind, token.nesting:
            case (("bullet_list" | "ordered_list"), 1):
                self._numbers.append(int(token.attrGet("start") or 1) if kind == "ordered_list" else None)
            case (("bullet_list" | "ordered_list"), -1):
                self._numbers.pop()
            case "list_item", 1:
                number = self._numbers[-1]
                self._marker = "• " if number is None else f"{number}. "
                self._numbers[-1] = None if number is None else number + 1
            case "blockquote", nesting:
                self._quotes += nesting
            case _:
                pass

    def _part(self, token: Token) -> None:
        """An empty line between two blocks, and none where a quotation begins."""
        if self.lines and self.lines[-1].strip("> ") and token.level <= self._quotes:
            self.lines.append(self._quote.strip() if self._quotes else "")

    @property
    def _quote(self) -> str:
        return "> " if self._quotes else ""

    def _write_text(self, text: str) -> None:
        indent = "    " * (len(self._numbers) - 1)
        first = indent + (self._marker or "  ") if self._numbers else ""
        rest = indent + "  " if self._numbers else ""
        for number, line in enumerate(text.split("\n")):
            self.lines.append(self._quote + (rest if number else first) + line)
        self._marker = ""

    def _write_code(self, lines: Sequence[str]) -> None:
        if self._marker:
            self._write_text("")
        elif self.lines and not self._numbers:
            self.lines.append("")
        self.lines += ["```", *(each.replace("```", "`\u200b``") for each in lines), "```"]


def _inline(tokens: Sequence[Token], *, bold: bool = False) -> str:
    written = ""
    hrefs: list[str] = []
    for number, token in enumerate(tokens):
        kind, _, edge = token.type.rpartition("_")
        match token.type:
            case "text":
                written += escaped(token.content)
            case "code_inline":
                written += f"`{escaped(token.content)}`"
            case "softbreak" | "hardbreak":
                written += "\n"
            case "link_open":
                href = str(token.attrGet("href") or "")
                hrefs.append(href if _leads_elsewhere(href) else "")
                written += f"<{_target(href)}|" if hrefs[-1] else ""
            case "link_close":
                written += ">" if hrefs.pop() else ""
            case "image":
                href = str(token.attrGet("src") or "")
                label = escaped(token.content) or "image"
                written += f"<{_target(href)}|{label}>" if _leads_elsewhere(href) else label
            case _ if kind in _MARKS and not (bold and kind == "strong"):
                mark = _MARKS[kind]
                following = tokens[number + 1].content[:1] if number + 1 < len(tokens) else ""
                if edge == "open":
                    written += (_EDGE if written[-1:].isalnum() else "") + mark
                else:
                    written += mark + (_EDGE if following.isalnum() else "")
            case _:
                pass
    return f"*{written}*" if bold and written.strip() else written


def _leads_elsewhere(href: str) -> bool:
    try:
        return urlsplit(href).scheme.lower() in _LINKED
    except ValueError:
        return False


def _target(href: str) -> str:
    return escaped(href).replace("|", "%7C")


def _table(tokens: Sequence[Token]) -> list[str]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            words = "".join(each.content for each in token.children or ())
            rows[-1].append(words if len(words) <= _CELL else f"{words[:_CELL]}…")
    widths = [max(map(_width, column)) for column in zip_longest(*rows, fillvalue="")]
    drawn = [
        "  ".join(
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=False)
        ).rstrip()
        for row in rows
    ]
    return [escaped(drawn[0]), "─" * min(sum(widths) + 2 * len(widths) - 2, 80), *map(escaped, drawn[1:])]


def _width(text: str) -> int:
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)
