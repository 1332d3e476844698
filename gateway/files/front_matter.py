"""Front matter: the YAML between two lines `---` at the beginning of a text, read without YAML's dangers.

Every scalar stays the text that was written (as in the specification's own parser, strictyaml): no number,
date or object is made of it. Anchors and aliases, of which YAML bombs are made, are refused.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeAlias

import yaml

from gateway.messages import clean_text

MAX_SIZE = 16_384
"""Characters of the front matter."""
MAX_DEPTH = 8

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

_LOADER: Any = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # libyaml is not everywhere, but ten times as fast
_DELIMITER = re.compile(r"^---[ \t]*$", re.MULTILINE)
_UNQUOTED_COLON = re.compile(
    r"""^([ ]*[\w-]+:[ \t]+)([^\s"'|>\[{#&*!%@`?,-].*:(?:[ \t].*)?)$""", re.MULTILINE
)


def split(text: str) -> tuple[str, str]:
    """The front matter, without its delimiters, and the body. A delimiter is a line of its own.

    Raises:
        ValueError: there is no front matter, it does not end, or it is too long.
    """
    first = _DELIMITER.match(text)
    if first is None:
        raise ValueError("it does not begin with front matter: a line ---, then `key: value` lines")
    last = _DELIMITER.search(text, first.end())
    if last is None:
        raise ValueError("its front matter does not end: a second line --- is missing")
    if last.start() - first.end() > MAX_SIZE:
        raise ValueError(f"its front matter is longer than {MAX_SIZE} characters")
    return text[first.end() + 1 : last.start()], text[last.end() :].strip()


def parse(text: str) -> dict[str, Value]:
    """The mapping that the front matter is. A value left empty is "".

    Raises:
        ValueError: it is not YAML, or not a mapping, nested too deeply, or has anchors, aliases or a key
            twice. The message names the line of the file.
    """
    try:
        events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        if yaml.DocumentStartEvent not in {type(event) for event in islice(events, 2)}:
            return {}
        value = _value(next(events), events, 0)
        if [type(event) for event in events] != [yaml.DocumentEndEvent, yaml.StreamEndEvent]:
            raise ValueError("the front matter holds more than one document")
    except yaml.MarkedYAMLError as error:
        raise ValueError(f"{_line(error.problem_mark)}: {error.problem}") from None
    except yaml.YAMLError:
        raise ValueError("the front matter has a character that YAML does not allow") from None
    if not isinstance(value, dict):
        raise ValueError("the front matter is not a list of `key: value` lines")
    return value


def quoted(text: str) -> str:
    """`text` with quotes around the values that have a colon and no quotes, which YAML takes for mappings:
    the commonest mistake in files from elsewhere (`description: Use this when: …`)."""
    return _UNQUOTED_COLON.sub(
        lambda found: found[1] + "'" + found[2].rstrip().replace("'", "''") + "'", text
    )


def _value(event: Any, events: Iterator[Any], depth: int) -> Value:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise ValueError(f"{_line(event.start_mark)}: anchors and aliases (& and *) are not allowed")
    if depth > MAX_DEPTH:
        raise ValueError(f"{_line(event.start_mark)}: nested more than {MAX_DEPTH} deep")
    if isinstance(event, yaml.ScalarEvent):
        return clean_text(event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(item, events, depth + 1) for item in _until(yaml.SequenceEndEvent, events)]
    mapping: dict[str, Value] = {}
    for key in _until(yaml.MappingEndEvent, events):
        name = _value(key, events, depth + 1)
        if not isinstance(name, str) or name in mapping:
            fault = f"{name[:64]!r} is given twice" if isinstance(name, str) else "a key is not a word"
            raise ValueError(f"{_line(key.start_mark)}: {fault}")
        mapping[name] = _value(next(events), events, depth + 1)
    return mapping


def _until(end: type[Any], events: Iterator[Any]) -> Iterator[Any]:
    for event in events:
        if isinstance(event, end):
            return
        yield event


def _line(mark: Any) -> str:
    """The line of the file: the front matter begins on its second one."""
    return "front matter" if mark is None else f"line {mark.line + 2}"
