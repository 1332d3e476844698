"""What one request asks: the newest question with its files, how far its turn has come, what the tools gave,
and what the gateway put beside the user's words: skills, memories, summaries.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from gateway.ids import ARTIFACT_PATTERN
from gateway.lexical import query_tokens, tokens

MAX_READ = 2000
"""Characters of a message that are read: `gateway dev` has the demo in its own event loop."""
MAX_STATEMENTS = 1000
"""The newest statements that a question is compared with."""
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_REFERENCE = re.compile(ARTIFACT_PATTERN)
_TAG = re.compile(r"<(\w+)>")
_SCHEDULED = "<scheduled_message>"
_SKILLS = re.compile(r"^<skills>\n(.*?)\n</skills>$", re.DOTALL | re.MULTILINE)
_SKILL = re.compile(r"^- (\S+?)(?: \([^\n]*?SKILL\.md\))?(?:: (.*))?$", re.MULTILINE)
_RECALLED = re.compile(r"^<(long_term_memory|retrieved_context)>\n.*?^</\1>", re.DOTALL | re.MULTILINE)
_MEMORY = re.compile(
    r"^\[([\w-]{1,64})\] [a-z_]{1,40}(?:, importance [1-5])?(?:, [\d-]{10}(?: [\d:]{8})?)?: "
    r"(?:passage \d+ of \d+,.*\n(?:  #.*\n)*)?\s{0,2}(\S.*)$",
    re.MULTILINE,
)
"""A memory on its line; of a passage the first line below that which is no heading."""
_SHOWN = re.compile(
    rf"<attachment>\n[^\n]*?(?P<ref>{ARTIFACT_PATTERN})[^\n]*\n\nFile name: (?P<name>[^\n]*)\n"
    r"(?P<about>.*)</attachment>",
    re.DOTALL,
)
_COMPACT = re.compile(
    rf"<tool_output>\n(?P<ref>{ARTIFACT_PATTERN}): (?P<about>[^\n]*?)\. .*?\n\n"
    r'(?:  Name: "(?P<name>[^\n]*)"\n)?',
    re.DOTALL,
)
_GONE = re.compile(rf"\[{ARTIFACT_PATTERN} (?:is not shown any more|cannot be shown)")
_END = re.compile(r"(?<=[。！？；])|(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?=\s)|\n")
_WISH = re.compile(
    r"\b(?:answer|reply|respond)\b[^.?!\n]{0,40}?\b(english|(?:traditional |simplified )?chinese)\b"
    r"|用(英[文语語]|[简簡繁][体體]|中文)[^。？！\n]{0,6}[回答]",
    re.IGNORECASE,
)
_LANGUAGES = {"eng": "english", "英": "english", "trad": "traditional", "繁": "traditional"}
_NAMING = {"call": "name", "名": "叫", "字": "叫"}
_BULLET = re.compile(r"^(?:[-*•]|\d+\.)\s+")


class QuestionMemory(NamedTuple):
    id: str
    text: str


class QuestionFile(NamedTuple):
    """An attached file: `about` is its text, or else its type and size."""

    ref: str
    name: str
    about: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one tool call of the turn."""

    name: str
    arguments: Mapping[str, Any]
    content: str
    is_error: bool = False

    @property
    def text(self) -> str:
        """The content without the tags and the note that the gateway puts around text from elsewhere."""
        return _unwrapped(self.content)

    @property
    def artifact(self) -> str | None:
        """The first reference to an artifact in it."""
        found = _REFERENCE.search(self.content)
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class DemoPrompt:
    """`step` counts the model calls of the turn from 1; `results` are those of all its tool calls; `earlier`
    are former messages of the user, summaries included; `skills` are descriptions by name; `language` is that
    of the answer, see `language_for`."""

    text: str
    step: int = 1
    results: Sequence[Result] = ()
    tools: frozenset[str] = frozenset()
    thinking: bool = False
    earlier: Sequence[str] = ()
    skills: Mapping[str, str] = field(default_factory=dict[str, str])
    memories: Sequence[QuestionMemory] = ()
    files: Sequence[QuestionFile] = ()
    language: str = "english"

    @property
    def artifact(self) -> str | None:
        """The newest reference to an artifact: of the last result that has one, else of the last file."""
        results = [result.artifact for result in self.results if result.artifact is not None]
        return (results or [file.ref for file in self.files] or [None])[-1]


def read(body: Mapping[str, Any]) -> DemoPrompt:
    """Reads a valid request body. The question is the last text block of the newest user message that has
    one: what the gateway puts beside the user's own words is not taken for them."""
    messages: list[dict[str, Any]] = body["messages"]
    system = [block.get("text", "") for block in blocks({"content": body.get("system") or []})]
    earlier = [text for text in system if text.startswith("<conversation_summary>")]
    beside = list(system)
    at = 0
    for index, message in enumerate(messages):
        texts = [block["text"] for block in blocks(message) if block["type"] == "text"]
        if message["role"] == "user" and texts:
            own = [text for text in texts if not _is_put_beside(text)]
            if not own:  # files without words; or the user wrote what looks like such a block
                own = [""] if any(map(_is_file, texts)) else texts[-1:]
            earlier += [_unwrapped(text) if text.startswith(_SCHEDULED) else text for text in own]
            beside += [text for text in texts if text not in own]
            at = index
        elif message["role"] == "system":
            beside += texts
    listed = [match[1] for text in system for match in _SKILLS.finditer(text)]
    return DemoPrompt(
        text=(earlier or [""])[-1],
        step=1 + sum(message["role"] == "assistant" for message in messages[at + 1 :]),
        results=_results(messages[at + 1 :]),
        tools=frozenset(str(tool.get("name")) for tool in body.get("tools") or ()),
        thinking=body.get("thinking", {}).get("type", "disabled") != "disabled",
        earlier=earlier[:-1],
        skills={line[1]: line[2] or "" for skills in listed for line in _SKILL.finditer(skills)},
        memories=[one for text in beside for hit in _RECALLED.finditer(text) for one in memories_in(hit[0])],
        files=list(_files(blocks(messages[at]))),
    )


def language_for(question: DemoPrompt) -> str:
    """The language to answer in, "english", "chinese" or "traditional": the newest wish of the user, in what
    is remembered or in this conversation, or else the question's."""
    texts = [*(each.text for each in question.memories), *question.earlier, question.text][-MAX_STATEMENTS:]
    wishes = (found for text in reversed(texts) for found in _WISH.findall(text[:MAX_READ])[-1:])
    wish = "".join(next(wishes, ())).casefold() or ("" if _CHINESE.search(question.text) else "english")
    return next((name for sign, name in _LANGUAGES.items() if sign in wish), "chinese")


def blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A message's content as blocks, also when it is written as a string."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def memories_in(text: str) -> list[QuestionMemory]:
    """The memories in a text that has each on a line of its own."""
    return [QuestionMemory(*line.groups()) for line in _MEMORY.finditer(text)]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text without blanks and bullets; lines that begin with `/` (directives) are none."""
    for part in _END.split(text[:MAX_READ]):
        sentence = _BULLET.sub("", part.strip())
        if sentence and sentence[0] not in "/<#":
            yield sentence


def is_question(sentence: str) -> bool:
    return sentence.rstrip()[-1:] in {"?", "？"}


def closest(question: str, statements: Iterable[str]) -> str | None:
    """The statement that has most of the question's words, of equals the one with most of its pairs of words
    ("my name"), of equals the last; None when none has 45 % of the words."""
    asked = question[:MAX_READ]
    wanted, pairs = _words(query_tokens(asked)), frozenset(pairwise(tokens(asked)))

    def shared(statement: str) -> tuple[int, int]:
        found = tokens(statement)
        return len(wanted & _words(found)), len(pairs.intersection(pairwise(found)))

    newest = list(dict.fromkeys(statements))[: -MAX_STATEMENTS - 1 : -1]
    nearest = max(newest, key=shared, default="")
    return nearest if wanted and shared(nearest)[0] / len(wanted) >= 0.45 else None


def related(text: str, other: str) -> bool:
    """Whether two texts have a word in common that does not only ask."""
    return not _words(query_tokens(text[:MAX_READ])).isdisjoint(tokens(other))


def _words(found: Iterable[str]) -> frozenset[str]:
    """Latin words of more than one letter and single Chinese characters. What is called so has that name."""
    words = (word for word in found if (len(word) == 1) != word.isascii() or word.isdecimal())
    return frozenset(_NAMING.get(word, word) for word in words)


def _unwrapped(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    tag = _TAG.fullmatch(first)
    wrapped, closing, _ = rest.rpartition(f"\n</{tag[1]}>") if tag is not None else ("", "", "")
    return wrapped.partition("\n\n")[2].strip() if closing else text.strip()


def _is_file(text: str) -> bool:
    return any(form.match(text) for form in (_SHOWN, _COMPACT))


def _is_put_beside(text: str) -> bool:
    if any(form.match(text) for form in (_SHOWN, _COMPACT, _GONE)):
        return True
    recalled = _RECALLED.match(text)
    return recalled is not None and not text[recalled.end() :].strip()


def _files(content: Sequence[Mapping[str, Any]]) -> Iterator[QuestionFile]:
    """An image or a document follows the words that name it."""
    for block, following in zip(content, [*content[1:], {}], strict=True):
        text = str(block.get("text"))
        if found := _SHOWN.match(text) or _COMPACT.match(text):
            shown = following if following.get("type") in {"image", "document"} else {}
            about = shown.get("source", {}).get("media_type") or found["about"].strip()
            yield QuestionFile(found["ref"], found["name"] or found["ref"], about)


def _results(messages: Sequence[Mapping[str, Any]]) -> list[Result]:
    parts = [part for message in messages for part in blocks(message)]
    calls = {part["id"]: part for part in parts if part["type"] == "tool_use"}
    found: list[Result] = []
    for part in parts:
        if part["type"] == "tool_result":
            call = calls.get(part["tool_use_id"], {"name": "a tool", "input": {}})
            texts = [inner["text"] for inner in blocks({"content": "", **part}) if inner["type"] == "text"]
            found.append(Result(call["name"], call["input"], "\n".join(texts), bool(part.get("is_error"))))
    return found
