"""A session as one HTML file that needs nothing else: its events, and the page's own reader of them, which is
built with the page (`web/reader`). What it shows is drawn by the same code as on the page.

The events stand in blocks of data, which no browser runs, written so that nothing in them ends the block. The
policy allows the scripts and the style of the file by their hashes, and nothing else from anywhere."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from gateway.errors import NotFound
from gateway.session_pages.words import printable

BUILT = Path(__file__).parents[1] / "ui" / "reader"
UNBUILT = (
    "For a web page the page of the gateway must be built, which it is not here: `make page` does it, with "
    "npm's packages. As Markdown or JSONL the session can be had without."
)
MAX_DATA = 48_000_000
"""Bytes of events in a page: what is more, no browser would draw. The page says that it ends early."""
_FORMULA = re.compile(r"\$[^$]+\$|\\[(\[]|\\begin\{")
_CODE = re.compile(r"`{3}|~{3}")
_MEANT = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""What might mean something beside JSON: the end of a block, or of a line of JavaScript. All of them stand in
strings alone."""


class Reader(NamedTuple):
    """The parts of the reader as they are built: `formulas` and `colours` are scripts for those who write
    formulas and code."""

    style: str
    reader: str
    formulas: str
    colours: str

    @property
    def policy(self) -> str:
        """The content policy of a page that has some of them, and pictures in itself."""
        scripts = " ".join(map(_hash, (self.reader, self.formulas, self.colours)))
        return (
            f"default-src 'none'; script-src {scripts}; style-src {_hash(self.style)}; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )


def load_reader(folder: Path | None = None) -> Reader:
    """The reader of the built page, or the one in the folder. Raises errors.NotFound (page_not_built)."""
    folder = folder or BUILT
    names = ("reader.css", "reader.js", "formulas.js", "colours.js")
    try:
        return Reader(*((folder / name).read_text(encoding="utf-8") for name in names))
    except FileNotFoundError:
        raise NotFound(UNBUILT, code="page_not_built") from None


class ReaderPage:
    """One page, written piece by piece: `begin`, any number of `events`, `pictures`, `end`. `session` is the
    server's description of it. `replay` shows all turns with their times and ids; without it the events are a
    branch's that was made to be shared. `language` is a tag; None: that of the reader's browser. `is_linked`:
    the page is read at this gateway by a link, and offers its readers a chat of their own."""

    def __init__(
        self,
        reader: Reader,
        session: dict[str, Any],
        *,
        replay: bool = False,
        language: str | None = None,
        is_linked: bool = False,
    ) -> None:
        self._reader = reader
        self._about = {
            "title": printable(str(session.get("title") or session["id"])),
            "created_at": session["created_at"],
            "replay": replay,
            "language": language,
            "linked": is_linked,
        }
        self._language = language or "und"
        self._room = MAX_DATA
        self._has_formulas = self._has_code = False
        self._tail = ""

    def begin(self) -> str:
        """The file up to where the events begin. Its title is there before the script draws it."""
        title = escape(str(self._about["title"]))
        return (
            f'<!doctype html>\n<html lang="{escape(self._language)}">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{self._reader.policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
            f"<title>{title}</title>\n<style>{self._reader.style}</style>\n"
            '</head>\n<body>\n<div id="root"><div class="reader"><header>'
            f'<h1 dir="auto">{title}</h1></header></div></div>\n'
            "<noscript>A script in this page draws the conversation, and scripts are off.</noscript>\n"
            + _block("events")
        )

    def events(self, events: Iterable[dict[str, Any]]) -> Iterator[str]:
        """Some events, each a line; none any more where the page is full."""
        for event in events:
            line = data_line(event)
            self._room -= len(line)
            if self._room < 0:
                self._about["is_cut"] = True
                return
            self._look(event)
            yield line

    def pictures(self) -> str:
        """What stands between the events and the pictures, each of which is a `picture_line`."""
        return _END + _block("pictures")

    def end(self) -> str:
        """What the file ends with: what is known of the session, and the scripts that it needs."""
        scripts = [
            *([self._reader.formulas] if self._has_formulas else []),
            *([self._reader.colours] if self._has_code else []),
            self._reader.reader,
        ]
        drawn = "".join(f"<script>{script}</script>\n" for script in scripts)
        return f"{_END}{_block('about')}{data_line(self._about)}{_END}{drawn}</body>\n</html>\n"

    def _look(self, event: dict[str, Any]) -> None:
        if self._has_formulas and self._has_code:
            return
        for text in _markdown_of(event):
            # A mark may be in two pieces.
            seen = self._tail + text
            self._has_formulas = self._has_formulas or _FORMULA.search(seen) is not None
            self._has_code = self._has_code or _CODE.search(seen) is not None
            self._tail = seen[-_TAIL:]
        if event["type"] == "done":
            self._tail = ""


_TAIL = 2_000
"""Characters before a piece of text that are looked at with it."""
_END = "</script>\n"


def data_line(value: object) -> str:
    """A value of JSON as a line of a block of data, in which no sign means anything to a browser."""
    return orjson.dumps(value).decode().translate(_MEANT) + "\n"


def picture_line(name: str, mime: str, content: bytes) -> str:
    """A picture that the events name so."""
    return data_line({"ref": name, "address": f"data:{mime};base64,{base64.b64encode(content).decode()}"})


def _block(name: str) -> str:
    return f'<script type="application/x-ndjson" id="{name}">\n'


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _markdown_of(event: dict[str, Any]) -> Sequence[str]:
    data = event["data"]
    match event["type"]:
        case "text" | "thinking":
            return [str(data.get("text", ""))]
        case "retrieval":
            return [str(hit.get("snippet", "")) for hit in data.get("results", ())]
        case _:
            return ()
