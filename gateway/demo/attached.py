"""The files that the user attached, as the gateway tells of them, and what the demo sees of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gateway.ids import ARTIFACT_PATTERN

MAX_REPORTED = 20
"""Files that an answer names."""
QUOTED = 200
"""Characters of a text that are quoted."""

_SHOWN = re.compile(
    rf"<attachment>\n[^\n]*?(?P<ref>{ARTIFACT_PATTERN})[^\n]*\n\nFile name: (?P<name>[^\n]*)\n"
    r"(?:\n(?P<text>.*)\n)?</attachment>",
    re.DOTALL,
)
_COMPACT = re.compile(
    rf"<tool_output>\n(?P<ref>{ARTIFACT_PATTERN}): (?P<about>[^\n]*?)\. .*?\n\n"
    r'(?:  Name: "(?P<name>[^\n]*)"\n)?.*\n</tool_output>',
    re.DOTALL,
)
_GONE = re.compile(rf"\[{ARTIFACT_PATTERN} (?:is not shown any more|cannot be shown)")

_WORDS = {
    "text": ("- `{}`, a text: “{}”", "- `{}`，文本：“{}”"),
    "image": (
        "- `{}`, an image ({}): the demo model does not see what is in it.",
        "- `{}`，图片（{}）：演示模型看不到里面的内容。",
    ),
    "document": (
        "- `{}`, a document ({}): the demo model does not read it.",
        "- `{}`，文档（{}）：演示模型不会读它。",
    ),
    "compact": (
        "- `{}` ({}): I can read parts of it, as `{}`.",
        "- `{}`（{}）：我可以按引用 `{}` 读其中的部分。",
    ),
    "attached": ("You attached:", "你附上了："),
    "more": ("- and {} more", "- 另外还有 {} 个"),
}


class AttachedFile(NamedTuple):
    """A file of the newest message: what is `shown` of it (text, image, document or compact), and what is
    told `about` it: its text, its type, or type and size."""

    ref: str
    name: str
    shown: str
    about: str


def is_attachment(text: str) -> bool:
    """Whether a block of text tells of a file, and is nobody's words."""
    return any(form.match(text) for form in (_SHOWN, _COMPACT, _GONE))


def files_in(content: Sequence[Mapping[str, Any]]) -> Iterator[AttachedFile]:
    """The files of a message. An image or a document follows the words that name it."""
    for index, block in enumerate(content):
        if block["type"] != "text":
            continue
        if found := _SHOWN.match(block["text"]):
            following = content[index + 1] if index + 1 < len(content) else block
            if following["type"] in {"image", "document"}:
                media_type = str(following["source"].get("media_type", ""))
                yield AttachedFile(found["ref"], found["name"], following["type"], media_type)
            else:
                yield AttachedFile(found["ref"], found["name"], "text", found["text"] or "")
        elif found := _COMPACT.match(block["text"]):
            yield AttachedFile(found["ref"], found["name"] or found["ref"], "compact", found["about"])


def tell(files: Sequence[AttachedFile], *, chinese: bool) -> str:
    """Each file by its name, what it is, and what can be seen of it."""
    lines = [_WORDS["attached"][chinese], ""]
    lines += [_told(file, chinese) for file in files[:MAX_REPORTED]]
    if (more := len(files) - MAX_REPORTED) > 0:
        lines.append(_WORDS["more"][chinese].format(more))
    return "\n".join(lines)


def _told(file: AttachedFile, chinese: bool) -> str:
    about = " ".join(file.about.split())
    about = about if len(about) <= QUOTED else f"{about[: QUOTED - 1]}…"
    return _WORDS[file.shown][chinese].format(file.name, about, file.ref)
