"""The lines of an export, as they are read: one form, and nothing in them is believed."""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Self, TypeVar

import orjson
from pydantic import ValidationError

from gateway.errors import BadImport, plain_words, problems_of
from gateway.storage.sessions.copies import Copied

MAX_LINE_LENGTH = 67_108_864
"""Bytes of one line: a message with all the results of one round of tool calls."""

P = TypeVar("P", bound=Copied)
T = TypeVar("T")


class ExportLines(Iterator[bytes]):
    """The lines of `file` from the offset `at` on, without line ends. Raises errors.BadImport for one that is
    too long or has no end."""

    def __init__(self, file: BinaryIO, at: int = 0) -> None:
        file.seek(at)
        self._file = file
        self.at = at
        """The offset of the next line."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        line = self._file.readline(MAX_LINE_LENGTH)
        if not line:
            raise StopIteration
        if not line.endswith(b"\n"):
            long = len(line) == MAX_LINE_LENGTH
            raise BadImport("The line is too long." if long else "The file is cut off within this line.")
        self.at += len(line)
        return line[:-1]


def read_line(line: bytes) -> tuple[str, dict[str, Any]]:
    """The kind of a line and what else it holds. Raises errors.BadImport."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise BadImport("It is not JSON.") from None
    if not isinstance(value, dict) or not isinstance(kind := value.get("kind"), str):
        raise BadImport("It is not a line of an export.")
    if kind == "error":
        raise BadImport(f"The export failed when it was made: {value.get('message')!r:.200}")
    # What was written by the gateway has one form only. No line of another can hide anything: names given
    # twice, or line ends that are none in JSON but in a stream of events.
    if _written(value) != line:
        raise BadImport("It is not in the form in which an export is written.")
    del value["kind"]
    return kind, value


def _written(value: dict[str, Any]) -> bytes | None:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return None


def copied(kind: type[P], value: dict[str, Any]) -> P:
    """`value` as a part of a copy, with every field in its place. Raises errors.BadImport."""
    part = valid(lambda: kind.model_validate_json(orjson.dumps(value), strict=True))
    demand(orjson.dumps(part.model_dump()) == orjson.dumps(value), "it is not complete, or not in order")
    return part


def written_later(value: dict[str, Any], name: str, then: int | None = None) -> dict[str, Any]:
    """A part from before there was the field `name`: it has what was so `then`. Raises errors.BadImport when
    it is there all the same."""
    demand(name not in value, f"{name} is unknown in this format")
    return {**value, name: then}


def valid(validate: Callable[[], T]) -> T:
    """The result of `validate`. Raises errors.BadImport with the errors that pydantic found."""
    try:
        return validate()
    except ValidationError as error:
        problem = problems_of(error)[0]
        place = ".".join(str(part) for part in problem["loc"])
        message = plain_words(problem["type"], problem["msg"], unknown="unknown name")
        raise BadImport(f"{place}: {message}"[:300]) from None


def demand(holds: bool, otherwise: str) -> None:
    """Raises errors.BadImport with the sentence `otherwise` unless it `holds`."""
    if not holds:
        raise BadImport(f"{otherwise[0].upper()}{otherwise[1:]}.")
