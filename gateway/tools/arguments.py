"""The arguments of a call against what its tool accepts, with an effort that neither schema nor arguments
decide: both may be anybody's."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import structlog

from gateway.bounded_dict import BoundedDict
from gateway.child_process import answer_of
from gateway.errors import BadArguments
from gateway.places import Places, PlaceTimeout
from gateway.tools.base import FunctionTool, Tool, parameters

if TYPE_CHECKING:
    from gateway.tools.schema_program import Checker

MAX_SIZE_INLINE = 65_536
"""Bytes of arguments that are looked at on the event loop."""
MAX_STEPS = 2000
"""Steps of a check within the process: 10 ms. A call has some 50; what takes more goes to schema_program.py,
whose CPU time and memory are bounded."""
MAX_CONCURRENT = 2
"""Such programs at the same time; others wait."""
PLACE_TIMEOUT = 10.0
"""Seconds that one waits for its place."""
WALL_SECONDS = 5.0
"""How long one may take, by the clock."""
_PROGRAM = Path(__file__).with_name("schema_program.py")
_ANSWER = 16_384  # bytes
_SLICE = 1_048_576
_STOPPED = (None, -signal.SIGKILL, -signal.SIGXCPU)

_places = Places(MAX_CONCURRENT)
_too_slow: BoundedDict[bytes, None] = BoundedDict(256)
"""What took too long lately, by digest."""

log = structlog.get_logger(__name__)


async def check_arguments(tool: Tool, arguments: dict[str, Any]) -> None:
    """Raises errors.BadArguments, with what is wrong, when they do not fit the tool, or when it takes too
    long to say whether they do."""
    large = is_large(arguments)
    if isinstance(tool, FunctionTool) and tool.check is not None:
        if large:
            await asyncio.to_thread(tool.check, arguments)
        else:
            tool.check(arguments)
        return
    schema = orjson.dumps(tool.spec.input_schema, option=orjson.OPT_SORT_KEYS)
    try:
        if large:
            problem = await asyncio.to_thread(_first_problem, schema, arguments)
        else:
            problem = _first_problem(schema, arguments)
            await asyncio.sleep(0)  # a message may have many calls
    except _TooManySteps:
        problem = await _checked_apart(tool, schema, arguments)
    except RecursionError:
        raise BadArguments(f"The arguments of {tool.spec.name} are nested too deeply.") from None
    except (OverflowError, ValueError):  # Python computes with no float, and writes no number, of that size
        raise BadArguments(f"The arguments of {tool.spec.name} have a number that is too large.") from None
    if problem is not None:
        where, message = problem
        raise BadArguments(
            f"The arguments of {tool.spec.name} are wrong. {where or 'the arguments'}: {message}. "
            f"Its parameters: {parameters(tool) or 'none'}."
        )


def prepare_checks() -> None:
    """Loads ahead what the first call would have to wait for. Calling it is optional."""
    _checker(b"{}")


class _TooManySteps(Exception):
    """More than MAX_STEPS."""


def is_large(arguments: dict[str, Any]) -> bool:
    """Whether they are more than may be looked at on the event loop."""
    try:
        return len(orjson.dumps(arguments)) > MAX_SIZE_INLINE
    except orjson.JSONEncodeError:  # numbers beyond 64 bits, or deep: a content of an artifact
        return True


def _first_problem(schema: bytes, arguments: dict[str, Any]) -> tuple[str, str] | None:
    from gateway.tools.schema_program import TooManySteps  # noqa: PLC0415 - see _checker

    try:
        return _checker(schema).first_problem(arguments, MAX_STEPS)
    except TooManySteps:
        raise _TooManySteps from None


@lru_cache(maxsize=256)
def _checker(schema: bytes) -> "Checker":
    from gateway.tools.schema_program import Checker  # noqa: PLC0415 - 0.1 s, and only tools need it

    return Checker(orjson.loads(schema))


async def _checked_apart(tool: Tool, schema: bytes, arguments: dict[str, Any]) -> tuple[str, str] | None:
    """The first problem, by the program."""
    written, digest = await asyncio.to_thread(_written, schema, arguments)

    async def request() -> AsyncGenerator[bytes]:
        yield b'{"schema":' + schema + b',"arguments":'
        for start in range(0, len(written), _SLICE):
            yield written[start : start + _SLICE]
        yield b"}"

    name = tool.spec.name
    if digest in _too_slow:  # a call is checked when it comes, and when it runs
        raise _takes_too_long(name)
    try:
        async with _places.one(PLACE_TIMEOUT):
            written, code = await answer_of(
                (sys.executable, "-I", _PROGRAM), request(), _ANSWER, WALL_SECONDS
            )
    except PlaceTimeout:
        raise BadArguments(f"The arguments of {name} wait too long for their check: try again.") from None
    if code == 0:
        problem = json.loads(written)["problem"]
        return None if problem is None else tuple(problem)
    if code not in _STOPPED:
        log.warning("check_of_arguments_crashed", tool=name, returncode=code)
    _too_slow[digest] = None
    raise _takes_too_long(name)


def _written(schema: bytes, arguments: dict[str, Any]) -> tuple[bytes, bytes]:
    """The arguments as JSON, and what tells them and the schema from others."""
    written = json.dumps(arguments).encode()
    return written, sha256(schema + b"\n" + written).digest()


def _takes_too_long(name: str) -> BadArguments:
    return BadArguments(
        f"The arguments of {name} take too long to check against its schema: send fewer values at once."
    )
