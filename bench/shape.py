"""Figures about the code: sizes, cycles, hidden imports, broad handlers, names that occur more than once.

`--check` fails when a package has more lines of code than its budget.
"""

import ast
import io
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[1]
LONG_FILE = 450
SHOWN_PER_FIGURE = 3
SMALL_FILE = 60
BROAD = {"Exception", "BaseException"}
OF_EACH_SUBJECT = {"base", "rows", "statements", "store"}
"""Names of files that a package has for its contract, and a folder of storage for its subject."""
BUDGETS: Mapping[str, int] = {
    "auth": 1370,
    "": 1620,
    "adapters": 8_150,
    "api": 5_350,
    "artifacts": 2740,
    "cli": 6530,
    "client": 580,
    "demo": 2690,
    "encryption": 160,
    "events": 610,
    "files": 220,
    "history": 4_430,
    "http": 1810,
    "lifespan": 660,
    "memory": 7_150,
    "model": 3700,
    "prompt": 730,
    "schedules": 400,
    "service": 6880,
    "session_pages": 500,
    "settings": 1230,
    "skills": 1080,
    "storage": 19_560,
    "telemetry": 4690,
    "tools": 5420,
    "turn": 3600,
    "wiring": 1_120,
}
"""Lines of code that each package of `gateway` may have, without blank lines, comments and docstrings; "" are
the modules beside the packages. A budget is raised on purpose, in a commit that says what for, and
lowered when a package has become smaller."""

Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class File:
    """A source file: `lines` as counted by an editor, `code` those that are not blank."""

    path: Path
    module: str
    tree: ast.Module
    lines: int
    code: int


def read(folder: str) -> list[File]:
    """Every Python file below `folder` of the repository."""
    return [_read(path) for path in sorted((ROOT / folder).rglob("*.py"))]


def _read(path: Path) -> File:
    text = path.read_text(encoding="utf-8")
    place = path.relative_to(ROOT).with_suffix("")
    module = ".".join(place.parts).removesuffix(".__init__")
    lines = text.splitlines()
    return File(path, module, ast.parse(text), len(lines), sum(1 for line in lines if line.strip()))


def statements(file: File) -> int:
    """Lines that hold code: neither blank nor comment nor docstring."""
    text = file.path.read_text(encoding="utf-8")
    documented = {
        line
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    passed_over = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in passed_over:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - documented)


def sizes(files: list[File]) -> dict[str, int]:
    """Lines of code of each package."""
    sizes: Counter[str] = Counter()
    for file in files:
        parts = file.path.relative_to(ROOT).parts
        sizes[parts[1] if len(parts) > 2 else ""] += statements(file)
    return dict(sizes)


def over_budget(sizes: Mapping[str, int], budgets: Mapping[str, int]) -> list[str]:
    """What is wrong with the size of a package, a sentence each."""
    return [
        f"gateway/{package} has {size:,} lines of code, its budget is {budgets.get(package, 0):,}: make it "
        "smaller, or raise its budget in bench/shape.py and say why."
        for package, size in sorted(sizes.items())
        if size > budgets.get(package, 0)
    ]


def repeated_names(files: list[File]) -> list[str]:
    """Module names in more than two packages, but for those of OF_EACH_SUBJECT."""
    packages: defaultdict[str, set[str]] = defaultdict(set)
    for file in files:
        package, _, name = file.module.rpartition(".")
        if file.path.name != "__init__.py":
            packages[name].add(package)
    return sorted(
        name for name, places in packages.items() if len(places) > 2 and name not in OF_EACH_SUBJECT
    )


def lonely_files(files: list[File]) -> list[str]:
    """Files under SMALL_FILE lines that one other file imports."""
    known = {file.module for file in files}
    importers: Counter[str] = Counter()
    for file in files:
        importers.update(set(_loaded(file, known)) - {file.module})
    return [
        file.module
        for file in files
        if file.lines < SMALL_FILE and file.path.name != "__init__.py" and importers[file.module] == 1
    ]


def functions(files: list[File]) -> list[tuple[int, str]]:
    """The length in lines and the name of each function, longest first."""
    found = [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{file.module}.{node.name}")
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, Functions)
    ]
    return sorted(found, reverse=True)


def broad_handlers(files: list[File]) -> int:
    """How many handlers catch Exception, BaseException or everything."""
    return sum(
        1
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in BROAD))
    )


def hidden_imports(files: list[File]) -> list[str]:
    """Imports of the own package that stand inside a function."""
    return [
        f"{file.module}.{function.name}"
        for file in files
        for function in ast.walk(file.tree)
        if isinstance(function, Functions)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom | ast.Import) and _imported(node, file)
    ]


def cycles(files: list[File]) -> list[list[str]]:
    """Groups of modules that import each other when they are loaded (type-only imports do not count)."""
    known = {file.module for file in files}
    graph = {file.module: set(_loaded(file, known)) - {file.module} for file in files}
    return [sorted(group) for group in _components(graph) if len(group) > 1]


def _loaded(file: File, known: set[str]) -> Iterator[str]:
    for node in _runtime(file.tree):
        for name in _imported(node, file):
            if name in known:
                yield name
            elif name.rpartition(".")[0] in known:
                yield name.rpartition(".")[0]


def _runtime(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, Functions) and not _is_type_checking(node):
            yield from _runtime(node)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _imported(node: ast.Import | ast.ImportFrom, file: File) -> list[str]:
    """Names under the own package that an import statement binds, as if each were a module."""
    package = file.module.partition(".")[0]
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = [f"{node.module}.{alias.name}" for alias in node.names if node.level == 0]
    return [name for name in names if name.partition(".")[0] == package]


def _components(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    reach = {module: _reachable(module, graph) for module in graph}
    seen: set[str] = set()
    for module in graph:
        if module not in seen:
            group = {module} | {other for other in reach[module] if module in reach[other]}
            seen |= group
            yield group


def _reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    open_ends = [start]
    while open_ends:
        fresh = graph[open_ends.pop()] - found
        found |= fresh
        open_ends += fresh
    return found


def figures() -> list[tuple[str, str]]:
    """What `make shape` prints, line by line."""
    code, tests = read("gateway"), read("tests")
    lines = sum(file.lines for file in code)
    lengths = [length for length, _ in functions(code)]
    longest = sorted(code, key=lambda file: -file.lines)[:SHOWN_PER_FIGURE]
    long_files = [file for file in code if file.lines > LONG_FILE]
    hidden = hidden_imports([file for file in code if not file.module.startswith("gateway.cli")])
    circles = cycles(code)
    broad = broad_handlers(code)
    size = sizes(code)
    return [
        ("files / lines", f"{len(code)} / {lines:,}"),
        ("lines of code", f"{sum(size.values()):,} of {sum(BUDGETS.values()):,}"),
        *(
            (f"  {package or 'beside the packages'}", f"{count:,} of {BUDGETS.get(package, 0):,}")
            for package, count in sorted(size.items(), key=lambda each: -each[1])
        ),
        (f"under {SMALL_FILE} lines, one importer", str(len(lonely_files(code)))),
        ("modules in more than two packages", ", ".join(repeated_names(code))),
        ("file: median / longest", f"{median(file.lines for file in code):.0f} / {longest[0].lines}"),
        ("longest files", ", ".join(f"{file.module} {file.lines}" for file in longest)),
        (f"files over {LONG_FILE} lines", str(len(long_files))),
        ("function: median / p90 / longest", f"{median(lengths):.0f} / {_p90(lengths):.0f} / {lengths[0]}"),
        ("longest functions", ", ".join(f"{name} {n}" for n, name in functions(code)[:SHOWN_PER_FIGURE])),
        ("runtime import cycles", f"{len(circles)} {'; '.join(' <-> '.join(group) for group in circles)}"),
        ("hidden imports outside cli", f"{len(hidden)} {', '.join(hidden)}"),
        ("broad handlers per 1000 lines", f"{broad} / {1000 * broad / lines:.2f}"),
        ("tests : code, non-blank lines", f"{sum(f.code for f in tests) / sum(f.code for f in code):.2f}"),
    ]


def _p90(values: list[int]) -> float:
    return quantiles(values, n=10)[-1] if len(values) > 1 else values[0]


def main() -> None:
    if "--check" in sys.argv[1:]:
        if problems := over_budget(sizes(read("gateway")), BUDGETS):
            sys.exit("\n".join(problems))
        return
    for name, value in figures():
        print(f"{name:<34}{value}")


if __name__ == "__main__":
    main()
