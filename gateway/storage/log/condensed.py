"""Several events of one turn in little more than their data: values that follow from their place are left
out, and equal values are stored once. Lines:

    [1795187109422,50,49]                     ts of the first event, then the differences
    ,"iteration":1,"data":{"text":"%b"}}      of each kind of event in a row: what comes behind the ids
    a piece of te                             of each event: what is at %b

What comes out is byte for byte what went in, or it is not condensed: that is checked.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain, groupby, islice, repeat
from operator import sub
from typing import NamedTuple

import orjson

FORM = b"\x02"
"""Begins what is condensed: a byte that no JSON has."""

_TIME = b',"ts":'
_DATA = b'"data":'
_TEXT = b'"data":{"text":"'
"""The data of a piece has one field."""
_MAX_DIGITS = 15
"""Digits of a time in Unix milliseconds, which thus reach to the year 33,658: with more it is none of ours.
Differences of such times fit into 64 bits, as many as `orjson` writes."""


class _Kind(NamedTuple):
    """Events in a row that differ in seq, ts and data alone; `end` is the part behind the ids, equal in all
    of them."""

    name: str
    end: bytes
    times: list[int]
    data: list[bytes]


def condense(
    scope: bytes, first_seq: int, types: Sequence[str], bodies: Sequence[bytes]
) -> tuple[str, bytes] | None:
    """The types (see `counted`) and lines of events that follow each other; None when one of them is not what
    `encode` makes."""
    kinds: list[_Kind] = []
    begin = 0
    for name, same in groupby(types):
        end = begin + sum(1 for _ in same)
        whole = _kind_of(scope, first_seq + begin, name, bodies[begin:end])
        each = (
            [whole]
            if whole
            else [_kind_of(scope, first_seq + at, name, bodies[at : at + 1]) for at in range(begin, end)]
        )
        found = [kind for kind in each if kind]
        if len(found) < len(each):
            return None
        kinds += found
        begin = end
    times = list(chain.from_iterable(kind.times for kind in kinds))
    when = orjson.dumps([times[0], *map(sub, times[1:], times)])
    data = chain.from_iterable(kind.data for kind in kinds)
    lines = FORM + b"\n".join([when, *(kind.end for kind in kinds), *data])
    return " ".join(counted(kind.name, len(kind.data)) for kind in kinds), lines


def bodies_of(
    lines: bytes, scope: bytes, types: Sequence[tuple[str, int]], seqs: range, skipped: int
) -> list[bytes]:
    """The bodies of the events `seqs`, which come after `skipped` others, from what was condensed."""
    when, *rest = lines[len(FORM) :].split(b"\n")
    frames = [_frame(name, scope, end) for (name, _), end in zip(types, rest, strict=False)]
    every = chain.from_iterable(map(repeat, frames, (count for _, count in types)))
    first = len(types) + skipped
    stop = skipped + len(seqs)
    times = islice(accumulate(orjson.loads(when)), skipped, stop)
    return _filled(islice(every, skipped, stop), seqs, times, rest[first : first + len(seqs)]).split(b"\n")


def counted(name: str, count: int) -> str:
    """A type, and how often it comes in a row."""
    return name if count == 1 else f"{name}*{count}"


def types_of(text: str) -> list[tuple[str, int]]:
    """The types of `counted`, with a space between."""
    parts = (part.partition("*") for part in text.split(" "))
    return [(name, int(count or 1)) for name, _, count in parts]


def _kind_of(scope: bytes, first_seq: int, name: str, bodies: Sequence[bytes]) -> _Kind | None:
    """None when they are not of one kind, as their first one is."""
    first = bodies[0]
    begin = first.find(_TIME) + len(_TIME)
    end = first.find(b",", begin)
    data = first.find(_DATA, end)
    mark, close = (_TEXT, b'"}}') if first.startswith(_TEXT, data) else (_DATA, b"}")
    between = first[end : data + len(mark)]
    shared = b"," + scope
    if not 0 < end - begin <= _MAX_DIGITS or not between.startswith(shared):
        return None
    digits, to_data = end - begin, end - begin + len(between)
    places = [body.find(_TIME) + len(_TIME) for body in bodies]
    try:
        times = [int(body[at : at + digits]) for body, at in zip(bodies, places, strict=True)]
    except ValueError:
        return None
    kind = _Kind(
        name,
        between[len(shared) :].replace(b"%", b"%%") + b"%b" + close,
        times,
        [body[at + to_data : -len(close)] for body, at in zip(bodies, places, strict=True)],
    )
    count = len(bodies)
    frames = repeat(_frame(name, scope, kind.end), count)
    filled = _filled(frames, range(first_seq, first_seq + count), times, kind.data)
    return kind if filled == b"\n".join(bodies) and filled.count(b"\n") == count - 1 else None


def _frame(name: str, scope: bytes, end: bytes) -> bytes:
    """An event of a kind, with places for seq, ts and data: see `encode_frame`."""
    return b'{"v":1,"seq":%%d,"type":"%b","ts":%%d,%b%b' % (name.encode(), scope, end)


def _filled(frames: Iterable[bytes], seqs: range, times: Iterable[int], data: Sequence[bytes]) -> bytes:
    # At once: a statement for each event takes twice as long.
    values = chain.from_iterable(zip(seqs, times, data, strict=True))
    return b"\n".join(frames) % tuple(values)
