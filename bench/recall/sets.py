"""What recall in turns is measured with, from the YAML files beside it. The same each time."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

Language = Literal["english", "chinese"]
CHARACTERS: Mapping[Language, int] = {"english": 6_500, "chinese": 2_000}
"""Of a document."""


class Asked(NamedTuple):
    """`memory` answers `question`; `own`: the question says that it is about the user or their work."""

    language: Language
    own: bool
    memory: str
    question: str


class Passage(NamedTuple):
    text: str
    question: str


class Document(NamedTuple):
    title: str
    content: str
    passages: Sequence[Passage]


class Saved(NamedTuple):
    """`said` by the user; a tool `gave` something to it; the model `saves` it in its own words, and another
    session is `asked` about it."""

    said: str
    gave: str
    saves: str
    asked: str


class Planted(NamedTuple):
    """An instruction of a stranger's, and how a model that falls for it tells it of the user."""

    text: str
    as_preference: str


def questions(language: Language) -> list[Asked]:
    read = _read("questions")
    return [
        Asked(language, own, **each)
        for name, own in ((language, False), (f"{language}_own", True))
        for each in read[name]
    ]


def no_answer() -> list[str]:
    return _read("questions")["no_answer"]


def saves_after_own_tools() -> list[Saved]:
    return [Saved(**each) for each in _read("saves")["after_own_tools"]]


def planted_instructions() -> list[Planted]:
    return [Planted(**each) for each in _read("saves")["planted"]]


def distractors(count: int) -> list[str]:
    """`count` different sentences about other things, every second one in Chinese."""
    rng, read = random.Random(7), _read("distractors")
    found: dict[str, None] = {}
    while len(found) < count:
        if len(found) % 2:
            said = "".join(rng.choice(part) for part in read["chinese"])
        else:
            said = f"{' '.join(rng.choice(part) for part in read['english'])}."
        found[said] = None
    return list(found)


def documents(language: Language) -> list[Document]:
    """Documents of ordinary length: their passages stand in the first, the middle and the last third."""
    read = _read("documents")
    return [_document(language, each, read[f"{language}_filler"]) for each in read[language]]


def _document(language: Language, given: Mapping[str, Any], filler: Mapping[str, Sequence[str]]) -> Document:
    rng, blank = random.Random(given["title"]), "" if language == "chinese" else " "
    passages = [Passage(**each) for each in given["passages"]]
    paragraphs: list[str] = []
    while sum(map(len, paragraphs)) < CHARACTERS[language]:
        said = [_sentence(rng, given["title"].lower(), filler) for _ in range(4)]
        paragraphs.append(blank.join(said))
    for place, passage in enumerate(passages):
        at = int(len(paragraphs) * (0.2 + 0.3 * place))
        paragraphs[at] = f"{passage.text}{blank}{paragraphs[at]}"
    headings = filler["headings"]
    between = -(-len(paragraphs) // len(headings))
    for number, heading in reversed(list(enumerate(headings))):
        paragraphs.insert(number * between, f"## {heading}")
    return Document(given["title"], "\n\n".join(paragraphs), passages)


def _sentence(rng: random.Random, topic: str, filler: Mapping[str, Sequence[str]]) -> str:
    chosen = {name: rng.choice(filler[name]) for name in ("thing", "time", "who")}
    return rng.choice(filler["sentences"]).format(topic=topic, **chosen)


def _read(name: str) -> dict[str, Any]:
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))
