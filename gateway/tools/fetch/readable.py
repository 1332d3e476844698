"""A page as text: its bytes decoded, its HTML without all that is not for reading."""

import codecs
import re
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urljoin

_BATCH = 16_384  # characters given to the parser at a time, at least
_MAX_LINK_LENGTH = 500

_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_SEARCHED = 4096  # bytes at the beginning in which a page may name its charset
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# What pages call by the left name is written in the right one (WHATWG Encoding, "Names and labels").
_MEANT = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "hz": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
}
_TEXTUAL = re.compile(
    r"utf-(8|16|16-le|16-be)|gb18030|big5hkscs|euc_jp|iso2022_jp|cp(932|949|874|866|125\d)|koi8-[ru]|iso8859-\d+"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LINE_END = re.compile("\r\n?")


def decoded(body: bytes, declared: str | None) -> str:
    """`body` as text with LF line ends and no control characters: by its byte order mark, the charset that
    was `declared`, or the one it names itself; else it is UTF-8. What cannot be read becomes U+FFFD."""
    bom, codec = next(((bom, codec) for bom, codec in _BOMS if body.startswith(bom)), (b"", None))
    if codec is None:
        head = body[:_SEARCHED]
        inner = _XML.search(head) or _META.search(head)
        codec = _codec(declared) or _codec(inner[1].decode("ascii", "replace") if inner else None) or "utf-8"
    text = body[len(bom) :].decode(codec, "replace")
    return _CONTROLS.sub("", _LINE_END.sub("\n", text))


def _codec(label: str | None) -> str | None:
    """Only codecs that are charsets: Python knows others, such as `unicode_escape`."""
    try:
        name = codecs.lookup(label or "").name
    except (LookupError, ValueError):
        return None
    name = _MEANT.get(name, name)
    return name if _TEXTUAL.fullmatch(name) else None


class Readable(NamedTuple):
    """`whole` unless the page has more text than was wanted."""

    title: str
    text: str
    whole: bool


def readable(html: str, base: str, limit: int) -> Readable:
    """The readable part of a page: headings, paragraphs, lists, tables and links, as plain text of
    about `limit` characters at most. `base` is what its links are relative to."""
    reader = _Reader(base)
    # A page may be made to keep the parser busy: `close()` reads the whole rest again for each element left
    # open, so it is not called; each piece reads again what was left open so far, so the pieces grow with it.
    # The parser raises at declarations that it does not know, so it sees none.
    html = html.replace("<![", "<! ")
    start = 0
    while start < len(html) and reader.length <= limit:
        end = start + max(_BATCH, len(reader.rawdata))
        reader.feed(html[start:end])
        start = end
    reader.feed("<br>")  # what stands before a tag is text that has ended
    text = re.sub(r"[ \t]+\n", "\n", "".join(reader.parts)).strip()
    return Readable(" ".join(reader.title.split()), text[:limit], len(text) <= limit)


_HIDDEN = {
    *(
        "canvas",
        "iframe",
        "math",
        "noscript",
        "object",
        "script",
        "select",
        "style",
        "svg",
        "template",
        "title",
    ),
}
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_LINES = {"address", "dd", "div", "dt", "figcaption", "li", "option", "summary", "tr"}
_PARAGRAPHS = {
    *(
        "article",
        "aside",
        "blockquote",
        "details",
        "dl",
        "fieldset",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
    ),
    *("main", "nav", "ol", "p", "pre", "section", "table", "ul"),
    *_HEADINGS,
}


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.length = 0
        self.title = ""
        self._base = base
        self._titled = False
        self._inside = ""  # the element whose text is not for reading
        self._depth = 0  # how many of its kind are open
        self._preformatted = False
        self._link: tuple[str, int] | None = None  # where to, and the part its text begins with
        self._mark = ""  # stands before the next text: "- ", "## "
        self._newlines = 2  # at the end of what is written
        self._space = False  # whether the next word is apart from the last

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._inside:
            self._depth += tag == self._inside
        elif tag in _HIDDEN:
            self._inside, self._depth = tag, 1
        elif tag == "a":
            self._end_link()
            self._link = (dict(attrs).get("href") or "", len(self.parts))
        else:
            self._open(tag)

    def _open(self, tag: str) -> None:
        self._break(tag)
        if tag in _HEADINGS:
            self._mark = _HEADINGS[tag]
        elif tag == "li":
            self._mark = "- "
        elif tag in {"td", "th"} and not self._newlines:
            self._mark = " | "
        elif tag == "br":
            self._end_line(1)
        elif tag == "pre":
            self._preformatted = True

    def handle_endtag(self, tag: str) -> None:
        if self._inside:
            self._depth -= tag == self._inside
            if not self._depth:
                self._titled |= tag == "title"
                self._inside = ""
        elif tag == "a":
            self._end_link()
        else:
            self._break(tag)
            if tag in _HEADINGS or tag == "li":
                self._mark = ""  # of one without text
            elif tag == "pre":
                self._preformatted = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            if self._inside == "title" and not self._titled:
                self.title = (self.title + data)[:300]
        elif self._preformatted:
            self._put(data)
        elif words := " ".join(data.split()):
            self._space |= data[0].isspace()
            self._put(words)
            self._space = data[-1].isspace()
        else:
            self._space = True

    def _put(self, text: str) -> None:
        apart = " " if self._space and not self._newlines and not self._mark else ""
        self._write(apart + self._mark + text)
        self._mark, self._space = "", False

    def _write(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)
        self._newlines = len(text) - len(text.rstrip("\n"))

    def _break(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._end_line(2)
        elif tag in _LINES:
            self._end_line(1)

    def _end_line(self, newlines: int) -> None:
        missing = newlines - self._newlines
        if missing > 0 and not self._mark:
            self.parts.append("\n" * missing)
            self._newlines = newlines
        self._space = False

    def _end_link(self) -> None:
        if self._link is None:
            return
        (href, start), self._link = self._link, None
        text = "".join(self.parts[start:]).strip()
        try:
            url = urljoin(self._base, href.strip())
        except ValueError:
            return
        if not text or href.startswith("#") or len(url) > _MAX_LINK_LENGTH or url == text:
            return
        if url.startswith(("http://", "https://")) and url.isprintable():
            after, self._space = self._space, True
            self._put(f"({url})")
            self._space = after
