"""A reader's terminals: the commands of a page, typed beside a gateway that runs."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from tests.documents.blocks import Block
from tests.forked_program import gateway_program
from tests.loopback import TIMEOUT
from tests.running import ROOT, clean_environment

# Of an id and the like a page shows one that is not the reader's.
_ID = re.compile(r"\b(?:[stmd]_[0-9a-f]{4,}|toolu_\w+|ART-[a-z0-9]{10})\b")
_CHANGING = re.compile(r'\b1[78]\d{11}\b|(?<=_ms":)\d+|(?<="seq":)\d+|(?<=^id: )\d+')
_REFUSED = 'curl() { command curl --no-fail-with-body "$@"; }'
# `curl` fails where the gateway refuses; but in a block that shows a refusal.
_CURLRC = "silent\nshow-error\nfail-with-body\n"


class Shell:
    """One bash that types the blocks of a page, in a folder and with the addresses that are really served.

    An id that a page shows is the reader's own in the commands that follow."""

    def __init__(self, folder: Path, addresses: Mapping[str, str], process: "subprocess.Popen[str]") -> None:
        self._folder, self._addresses, self._process = folder, addresses, process
        self._ids: dict[str, str] = {}

    def run(self, block: Block) -> None:
        """Types it and waits for its end; AssertionError: a command fails, or prints what is not shown."""
        printed = self._run(block, "")
        self._check(self._printed(block, printed) if block.output else None)

    def leave_open(self, block: Block) -> None:
        """Of a command that does not end: in another terminal, until it has printed what is shown."""
        self._in_background(block, "", lambda printed: self._printed(block, printed))

    def check_settings(self, block: Block) -> None:
        """A gateway would start with them; the commands that follow do not have them."""
        self._run(block, "gateway config")

    def start_gateway(self, block: Block) -> None:
        """What is before its last command is typed, and the gateway becomes ready, with data of its own."""
        *before, last = block.commands.splitlines(keepends=True)
        self.run(replace(block, commands="".join(before)))
        own = f"export GATEWAY_PORT=0 GATEWAY_DATA_DIR=data-{block.line}; "
        self._in_background(
            replace(block, commands=last),
            own,
            lambda printed: None if "is ready" in printed else "The gateway is not ready.",
        )

    def _run(self, block: Block, then: str) -> str:
        """What it prints, or with `then` that command behind it, in a shell of their own."""
        script, output = self._files(block)
        self._type(f"{{ ( . {script}; {then} )" if then else f"{{ . {script}")
        self._type(f"}} > {output} 2>&1 < /dev/null\necho")
        limit = threading.Timer(TIMEOUT, self._process.kill)
        limit.start()
        assert self._process.stdout is not None
        ended = self._process.stdout.readline()
        limit.cancel()
        printed = output.read_text(errors="replace")  # of a range of bytes
        assert ended, f"{block} fails:\n{block.commands}\n{printed[-3000:]}"
        return printed

    def _files(self, block: Block) -> tuple[Path, Path]:
        text = _ID.sub(lambda shown: self._ids.get(shown[0], shown[0]), self._at_home(block.commands))
        if '{"error":{"code":' in block.output:
            text = f"{_REFUSED}\n{text}"
        script = self._folder / f".block-{block.line}.sh"
        script.write_text(text, encoding="utf-8")
        return script, script.with_suffix(".out")

    def _at_home(self, text: str) -> str:
        for shown, real in self._addresses.items():
            text = text.replace(shown, real)
        return text

    def _type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _in_background(self, block: Block, before: str, missing: Callable[[str], str | None]) -> None:
        script, output = self._files(block)
        ended = output.with_suffix(".ended")
        output.touch()
        typed = f"( set +e; ( set -e; {before}. {script} ) > {output} 2>&1; touch {ended} )"
        self._type(f"{typed} > /dev/null 2>&1 < /dev/null &")
        limit = time.monotonic() + TIMEOUT
        while (absent := missing(output.read_text())) and time.monotonic() < limit and not ended.exists():
            time.sleep(0.05)
        self._check(absent and f"{absent}\n{output.read_text()[-2000:]}")

    @staticmethod
    def _check(missing: str | None) -> None:
        if missing is not None:
            raise AssertionError(missing)

    def _printed(self, block: Block, output: str) -> str | None:
        """What is missing of the lines that the page shows, if anything: they must come in this order."""
        lines = re.sub(r'}(?=\[|\{")', "}\n", output).splitlines()  # no line ends behind a body
        rest = iter(lines)
        for shown in filter(None, map(str.strip, self._at_home(block.output).splitlines())):
            if not any(self._is(shown, line.strip()) for line in rest):
                like = get_close_matches(shown, [line.strip()[:2000] for line in lines], 1, 0)
                return f"{block} shows\n  {shown}\nand not, or not then,\n  {''.join(like)}"
        return None

    def _is(self, shown: str, line: str) -> bool:
        names = list[str]()
        pattern, at = "", 0
        for found in _ID.finditer(shown):
            pattern += _loose(shown[at : found.start()])
            at = found.end()
            if shown[at : at + 1] == "…":
                pattern += r"\w+"
            elif found[0] in self._ids:
                pattern += re.escape(self._ids[found[0]])
            elif found[0] in names:
                pattern += rf"(?P=id{names.index(found[0])})"
            else:
                pattern += rf"(?P<id{len(names)}>{_ID.pattern})"
                names.append(found[0])
        matched = re.fullmatch(pattern + _loose(shown[at:]), line)
        if matched:
            self._ids |= {name: matched[f"id{number}"] for number, name in enumerate(names)}
        return matched is not None


def _loose(text: str) -> str:
    """A pattern for text of a page, in which times differ and `…` is anything."""
    parts = [re.escape(part) for part in _CHANGING.split(text)]
    return re.sub(r"(?:\\ )?…(?:\\ )?", ".*", r"\d+".join(parts))


@contextmanager
def shell(folder: Path, addresses: Mapping[str, str], **environment: str) -> Generator[Shell]:
    """A shell in the folder. All that it has started ends with it."""
    (folder / ".curlrc").write_text(_CURLRC)
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    told = clean_environment(HOME=str(folder), PATH=path, **environment)
    bash = subprocess.Popen(
        ["bash", "-Eeuo", "pipefail"],
        cwd=folder,
        env={**told, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with gateway_program(programs), bash as process:
        try:
            yield Shell(folder, addresses, process)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
