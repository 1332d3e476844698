"""Figures about the code, to talk about: sizes, cycles, hidden imports, broad handlers."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parents[1]
LONG_FILE = 300
SHOWN_PER_FIGURE = 3
BROAD = {"Exception", "BaseException"}

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
    return [
        ("files / lines", f"{len(code)} / {lines:,}"),
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


if __name__ == "__main__":
    for name, value in figures():
        print(f"{name:<34}{value}")
