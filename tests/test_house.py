"""The rules of the house: what `make check` stands for is really enforced, and the documents are true."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench import shape
from gateway import __version__
from gateway.settings.former_settings import WITHOUT_EFFECT
from tests.loopback import TIMEOUT

pytestmark = [pytest.mark.long, pytest.mark.waits]

ROOT = Path(__file__).resolve().parents[1]
LOCKS = (
    "requirements.txt",
    "requirements-build.txt",
    "requirements-dev.txt",
    "requirements-node.txt",
    "requirements-real-model.txt",
)
EXAMPLES = [each for each in (ROOT / "examples").rglob("*") if "node_modules" not in each.parts]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(each for each in EXAMPLES if each.suffix == ".md"),
]
HEAVY = ("anthropic", "pydantic", "sqlalchemy", "starlette", "uvicorn", "opentelemetry", "httpx2", "asyncio")

PRONOUNS = {
    *("it", "its", "they", "their", "those", "that", "what", "whatever", "who", "whoever", "whom", "whose"),
    *("which", "whichever", "he", "she", "we", "our", "ours"),
}
# Packages whose docstrings have not been read for it yet: the list may only get shorter.
UNREAD = {
    *(
        "adapters",
        "api",
        "app.py",
        "artifacts",
        "certificates.py",
        "demo",
        "encryption",
        "events",
        "gauges.py",
    ),
    *(
        "history",
        "http",
        "lifespan",
        "memory",
        "messages.py",
        "model",
        "page.py",
        "prompt",
        "request_heads.py",
        "schedules",
    ),
    *("service", "session_pages", "skills", "sse_frames.py", "storage", "telemetry", "thinking_in_text.py"),
    *("tools", "turn", "wiring"),
}


@cache
def sources() -> list[shape.File]:
    """Those of the gateway, read once."""
    return shape.read("gateway")


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(cwd)},
        capture_output=True,
        text=True,
        check=False,
        timeout=10 * TIMEOUT,
    )


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return run(
        "-c", "from importlinter.cli import lint_imports; import sys; sys.exit(lint_imports())", cwd=folder
    )


def test_an_import_against_the_direction_fails_the_check(tmp_path: Path) -> None:
    """Each planted violation breaks the contract that forbids it, and the report names the import."""
    planted = [
        ("errors.py", "import gateway.settings", "gateway.errors -> gateway.settings"),
        ("tools/clock.py", "import gateway.model.base", "gateway.tools.clock -> gateway.model"),
        ("newroom.py", "", "gateway.newroom"),
        (
            "service/gateway.py",
            "import gateway.model.anthropic",
            "gateway.service.gateway -> gateway.model.anthropic",
        ),
        ("turn/agent_loop.py", "import anthropic", "gateway.turn.agent_loop -> anthropic"),
    ]
    shutil.copytree(
        ROOT / "gateway", tmp_path / "gateway", ignore=shutil.ignore_patterns("__pycache__", "ui")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line, _ in planted:
        with (tmp_path / "gateway" / file).open("a") as text:
            text.write(f"\n{line}\n")

    report = lint_imports(tmp_path)

    assert report.returncode != 0
    for contract in ("One direction", "Only wiring names an adapter", "SDKs stay at their edge"):
        assert f"{contract} BROKEN" in report.stdout
    assert [message for *_, message in planted if message not in report.stdout] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host_and_hashes_every_pin(lock: str) -> None:
    """Requirement files hold pins with hashes and nothing that says where to get them."""
    text = (ROOT / lock).read_text()
    pins = re.findall(r"^[A-Za-z0-9][^\n]*(?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?)+$", text, re.MULTILINE)

    assert "://" not in text
    assert "--index" not in text
    assert " @ " not in text
    assert len(pins) == len(re.findall(r"^[^\s#]", text, re.MULTILINE)) > 0


@pytest.mark.parametrize("folder", ["tests/clients", "web"])
def test_the_lock_of_npm_names_no_host_and_hashes_every_package(folder: str) -> None:
    """Neither where a package comes from nor where its makers ask for money."""
    text = (ROOT / folder / "package-lock.json").read_text()
    packages = {name: each for name, each in json.loads(text)["packages"].items() if name}

    assert "://" not in text
    assert packages
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())


def test_the_examples_name_one_version_of_each_package_that_the_tests_use_too() -> None:
    """Of what an example and tests/clients both have, the version is one that is tested."""
    clients = json.loads((ROOT / "tests" / "clients" / "package.json").read_text())["dependencies"]
    tested: dict[str, list[str]] = {}
    for alias, version in clients.items():  # "ai-6": "npm:ai@6.0.326" is a version of "ai", too
        name, at, number = version.removeprefix("npm:").rpartition("@")
        tested.setdefault(name if at else alias, []).append(number)
    named = [
        (name, version)
        for each in EXAMPLES
        if each.name == "package.json"
        for name, version in json.loads(each.read_text())["dependencies"].items()
    ]

    assert named
    assert [pair for pair in named if re.fullmatch(r"\d+(\.\d+)+", pair[1]) is None] == []
    assert [pair for pair in named if pair[1] not in tested.get(pair[0], [pair[1]])] == []


def test_clients_that_httpx2_replaces_are_no_dependencies_of_ours() -> None:
    """Nothing in the gateway imports old HTTP clients, and pyproject does not ask for them."""
    replaced = {"httpx", "requests"}
    asked = {re.split(r"[\[>=<]", each)[0] for each in pyproject()["project"]["dependencies"]}

    assert asked & replaced == set()
    assert [path for path in (ROOT / "gateway").rglob("*.py") if replaced & set(imports(path))] == []


def test_the_locks_cover_what_pyproject_asks_for() -> None:
    """A dependency that was added to pyproject.toml is pinned in the file that installs it."""
    project = pyproject()["project"]
    asked = {
        "requirements.txt": project["dependencies"],
        "requirements-dev.txt": project["dependencies"] + project["optional-dependencies"]["dev"],
        "requirements-build.txt": pyproject()["build-system"]["requires"],
    }

    for lock, requirements in asked.items():
        pinned = {
            normal(name)
            for name in re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / lock).read_text(), re.MULTILINE)
        }
        assert {normal(re.split(r"[\[>=<]", each)[0]) for each in requirements} <= pinned


def test_the_version_is_the_latest_in_the_changelog() -> None:
    """`__version__` and the first released heading of CHANGELOG.md agree."""
    headings = re.findall(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert headings[0] == __version__


def test_importing_the_package_imports_nothing_heavy() -> None:
    """`import gateway` costs nothing: the package's own module is only a map."""
    report = run("-c", f"import sys, gateway; print([name for name in {HEAVY!r} if name in sys.modules])")

    assert report.stdout.strip() == "[]", report.stderr


def test_the_generated_pages_are_current() -> None:
    """docs/events.md, docs/api.md, docs/settings.md and .env.example say what the code says."""
    report = run("docs/generate.py", "--check")

    assert report.returncode == 0, report.stdout + report.stderr


def test_the_types_of_the_client_are_those_of_the_gateway() -> None:
    """web/client/src/events.ts and api.ts are written from the models of events and routes."""
    checked = run("web/client/generate.py", "--check")
    assert checked.returncode == 0, checked.stdout


def test_every_make_target_that_a_document_names_exists() -> None:
    """Commands in the documents can be typed as they stand."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name
        for document in DOCUMENTS
        for name in re.findall(r"(?:^|`)make ([a-z-]+)", document.read_text(), re.MULTILINE)
    }

    assert {"run", "test", "check"} <= named <= targets


def test_every_link_between_documents_leads_somewhere() -> None:
    """A relative link names a file that is there, and its anchor a heading of that file."""
    dead = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in DOCUMENTS
        for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", document.read_text())
        if not leads_somewhere(document, target)
    ]

    assert dead == []


@pytest.mark.parametrize(
    "page", ["a2a", "ag-ui", "ai-sdk", "durable-streams", "frontend", "mcp-server", "openai", "webhooks"]
)
def test_the_client_on_a_chinese_page_is_the_one_that_is_tested(page: str) -> None:
    """The first program of the English page, which the tests run, stands on the Chinese page as it is."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    program = re.search(r"^```(?:html|js|python)\n.+?^```$", text, re.DOTALL | re.MULTILINE)

    assert program
    assert program.group() in (ROOT / "docs" / "zh" / f"{page}.md").read_text(encoding="utf-8")


def test_every_file_that_a_docstring_or_a_drawing_names_is_there() -> None:
    """A file that was renamed is named so wherever its readers are sent to it."""
    sources = [path for top in ("gateway", "tests", "bench") for path in (ROOT / top).rglob("*.py")]
    there = [path.relative_to(ROOT).parts for path in (*sources, *EXAMPLES, *ROOT.glob("*/*.py"))]
    texts = [*(ROOT / "gateway").rglob("*.py"), ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in texts
        for name in re.findall(r"(?<![\w/.…-])(?:[a-z]\w*/)*[a-z]\w*\.py\b", path.read_text())
    }
    ends = {"/".join(parts[start:]) for parts in there for start in range(len(parts))}

    assert len(named) > 100
    assert sorted(each for each in named if each[1] not in ends) == []


def test_every_variable_that_a_document_names_is_a_setting() -> None:
    """GATEWAY_* names in the documents, the image and the compose files are in .env.example; the changelog
    also names those that have no effect any more."""
    known = set(re.findall(r"^#(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    known |= {
        "GATEWAY_CONFIG",
        "GATEWAY_URL",
        "GATEWAY_KEY",
        *(f"GATEWAY_SLACK_{each}" for each in ("JOURNAL", "RATE", "USERS", "IDENTITY")),
    }
    places = [*DOCUMENTS, ROOT / "Dockerfile", *ROOT.glob("compose*.yaml")]
    places += [each for each in EXAMPLES if each.suffix in (".yaml", ".js", ".jsx")]
    named = {
        name
        for place in places
        for name in re.findall(r"GATEWAY_[A-Z_]*[A-Z]", place.read_text())
        if place.name != "CHANGELOG.md" or name not in WITHOUT_EFFECT
    }

    assert named - known == set()


def test_the_container_listens_where_its_ports_and_its_health_check_look() -> None:
    """The compose file publishes port 8000 and sets it, whatever .env says; the image's check follows it."""
    compose = (ROOT / "compose.yaml").read_text()
    check = (ROOT / "Dockerfile").read_text().partition("HEALTHCHECK")[2]

    assert '"127.0.0.1:8000:8000"' in compose
    assert re.search(r"environment:\n(?:      .+\n)*      GATEWAY_PORT: \"8000\"\n", compose)
    assert "GATEWAY_PORT" in check.partition("ENTRYPOINT")[0]


def test_what_is_to_be_installed_by_hand_is_what_an_extra_asks_for() -> None:
    """`pip install '…'` in a message of the gateway or in a document names no package but those: ours is on
    no index."""
    extras = pyproject()["project"]["optional-dependencies"]
    known = {each for requirements in extras.values() for each in requirements} | {"moto[server]"}
    named = {
        requirement
        for place in [*DOCUMENTS, *(ROOT / "gateway").rglob("*.py")]
        for requirement in re.findall(r"pip install '(?!\.)([^']+)'", place.read_text(encoding="utf-8"))
    }

    assert "mcp>=2.3,<3" in named
    assert named - known == set()


def test_every_dependency_has_its_reason() -> None:
    """CONTRIBUTING.md says of each dependency why it is here."""
    table = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    explained = {normal(re.split(r"\[", name.strip())[0]) for row in table for name in row.split(",")}
    project = pyproject()["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    asked += pyproject()["build-system"]["requires"]

    assert {normal(re.split(r"[\[>=<]", each)[0]) for each in asked} - explained == set()


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def leads_somewhere(document: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    path = (document.parent / name) if name else document
    if not path.exists() or not anchor or path.suffix != ".md":
        return path.exists()
    headings = re.findall(r"^#+\s+(.*)$", path.read_text(), re.MULTILINE)
    return anchor in {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def test_a_name_says_what_the_glossary_says() -> None:
    """No identifier of the gateway has a word that a term of the field has replaced, and no document either;
    a limit is MAX_ or MIN_. (`told` of a retrieval's results is on the wire.)"""
    replaced = {"hearsay", "shelf", "spool", "vicinity", "likeness", "nearness", "intake", "encoders"}
    limits = {"MOST", "LEAST", "LONGEST"}
    names = {
        name
        for file in sources()
        for node in ast.walk(file.tree)
        for name in (getattr(node, "name", None), getattr(node, "id", None), getattr(node, "arg", None))
        if isinstance(name, str)
    }
    prose = {
        word.lower() for document in DOCUMENTS for word in re.findall(r"\w+", document.read_text("utf-8"))
    }

    assert [name for name in names if replaced & set(name.lower().split("_"))] == []
    assert [name for name in names if name.isupper() and name.strip("_").split("_")[0] in limits] == []
    assert replaced & prose == set()


def test_a_docstring_begins_with_its_subject_or_a_verb() -> None:
    """No docstring of a package that was read for it begins with a pronoun."""
    begins = [
        (path.relative_to(ROOT).as_posix(), text.split("\n")[0])
        for path in sorted((ROOT / "gateway").rglob("*.py"))
        if path.relative_to(ROOT).parts[1] not in UNREAD
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
    ]

    assert len(begins) > 500
    assert [each for each in begins if re.split(r"\W", each[1].lower())[0] in PRONOUNS] == []
    assert [name for name in UNREAD if not list((ROOT / "gateway").glob(name))] == []


def test_a_package_above_its_budget_fails_the_check() -> None:
    """So does one without a budget; the sentence says what to do. All of today's are within theirs."""
    assert shape.over_budget({"turn": 10, "model": 5}, {"turn": 10, "model": 5}) == []
    unknown, above = shape.over_budget({"turn": 11, "new": 1}, {"turn": 10})
    assert unknown.startswith("gateway/new has 1 lines of code, its budget is 0: make it smaller, or raise")
    assert above.startswith("gateway/turn has 11 lines of code, its budget is 10: ")

    assert shape.over_budget(shape.sizes(sources()), shape.BUDGETS) == []


def test_a_line_of_code_is_no_comment_docstring_or_blank_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement over three lines is three, a string that is a value is code."""
    (tmp_path / "gateway" / "turn").mkdir(parents=True)
    text = '"""One\n\nTwo."""\n\n# three\nx = (\n    1,\n)\ny = """a\n\nb"""\n'
    (tmp_path / "gateway" / "turn" / "a.py").write_text(text)
    monkeypatch.setattr(shape, "ROOT", tmp_path)

    assert shape.sizes(shape.read("gateway")) == {"turn": 6}
