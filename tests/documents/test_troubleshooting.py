"""docs/troubleshooting.md has every code that a failure of the gateway can have, with its HTTP status, and so
has the Chinese page."""

import ast
import re
from collections.abc import Iterator
from typing import get_args

from gateway import errors
from gateway.events.lifecycle import ErrorCode
from gateway.http.error_responses import HTTP_CODES
from gateway.http.error_status_codes import status_of
from gateway.turn.agent_loop import MAX_TOKENS, WINDOW_FULL
from gateway.turn.model_slot import BUSY, STARTING
from tests.documents.blocks import ROOT

ROW = re.compile(r"^\| ((?:`[a-z_]+`(?:, |、)?)+) \| ([0-9, ]*) \| .+ \|$", re.MULTILINE)
ELSEWHERE = {
    "user_busy": {429},
    "key_busy": {429},
    "range_not_satisfiable": {416},
    "export_incomplete": set[int](),
    "database_pooled": {503},
} | {code: set[int]() for code in (MAX_TOKENS, WINDOW_FULL, BUSY, STARTING)}
"""`f"{whose}_busy"`, errors whose modules have them for themselves, and warnings whose codes have names."""


def written(page: str = "docs/troubleshooting.md") -> dict[str, set[int]]:
    """The codes of the page's tables, each with the statuses that the page has for it."""
    found: dict[str, set[int]] = {}
    for names, statuses in ROW.findall((ROOT / page).read_text(encoding="utf-8")):
        for name in re.findall(r"`(\w+)`", names):
            assert name not in found, f"{name} is there twice"
            found[name] = {int(status) for status in statuses.split(", ") if status}
    return found


def raised() -> dict[str, set[int]]:
    """The codes in the gateway's sources, each with the statuses with which requests are refused by it."""
    found = {code: set[int]() for code in get_args(ErrorCode)} | {code: {s} for s, code in HTTP_CODES.items()}
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.GatewayError):
            found.setdefault(kind.code, set()).update(statuses(name))
    for file in (ROOT / "gateway").rglob("*.py"):
        if "evaluation" not in file.parts:
            for code, name in coded(ast.parse(file.read_text(encoding="utf-8"))):
                found.setdefault(code, set()).update(statuses(name))
    return found | ELSEWHERE


def coded(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each `code="…"` of an error, with the name of the error's class."""
    for call in ast.walk(tree):
        name = ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
        if isinstance(call, ast.Call) and (name == "TurnWarning" or isinstance(vars(errors).get(name), type)):
            for code in (each.value for each in call.keywords if each.arg == "code"):
                branches = [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]
                for each in branches:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield each.value, name


def statuses(name: str) -> set[int]:
    kind = vars(errors).get(name, object)
    if kind is errors.RequestRefused or not issubclass(kind, errors.RequestRefused):
        return set()  # the former is what a command was told by a server
    return {status_of(kind.__new__(kind))}  # whatever else its kind is made of


def test_every_code_of_a_failure_is_explained() -> None:
    """No code is missing, none is there that the gateway has not."""
    assert written().keys() == raised().keys()


def test_the_status_of_a_refusal_is_the_one_that_is_written() -> None:
    """Of requests that are refused; what else fails has one by what failed."""
    page = written()

    assert {code: page[code] for code, found in raised().items() if not found <= page[code]} == {}


def test_the_chinese_page_has_the_same_codes_and_statuses() -> None:
    """In the same order, so that both are read side by side."""
    assert list(written("docs/zh/troubleshooting.md").items()) == list(written().items())
