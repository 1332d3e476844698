"""The registry, the clock and the calculator."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import UnknownTool
from gateway.tools.base import FunctionTool, ToolContext
from gateway.tools.builtin import builtin_tools
from gateway.tools.function import tool
from gateway.tools.registry import Tools
from tests.product import ToolError

pytestmark = pytest.mark.anyio

CONTEXT = ToolContext("s_1", "t_1", "toolu_1", "local", "t_1:toolu_1", lambda _: None)


def named(name: str) -> FunctionTool:
    @tool(effect="read_only", name=name)
    async def say() -> str:
        """Says something."""
        return name

    return say


def test_the_built_in_tools_are_told_in_the_order_of_their_names() -> None:
    """All three only read, so a crashed turn may call them again."""
    tools = Tools(builtin_tools())

    assert [spec.name for spec in tools.specs()] == ["calculate", "current_time", "search_docs"]
    assert {tool.effect for tool in tools} == {"read_only"}


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    """The model can choose again."""
    with pytest.raises(UnknownTool, match=r"no tool named 'weather'. Available tools: a, b"):
        Tools([named("b"), named("a")]).get("weather")


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "工具", "a\n"])
def test_a_name_the_model_cannot_use_is_refused(name: str) -> None:
    """Names are 1 to 64 letters, digits, underscores and hyphens."""
    with pytest.raises(ValueError, match="cannot be a tool's name"):
        Tools([named(name)])


def test_a_name_is_used_once_also_when_tools_are_added() -> None:
    """Two tools of one name are refused; the first set is unchanged by adding."""
    tools = Tools([named("a")])

    with pytest.raises(ValueError, match="two tools are named 'a'"):
        tools.plus(named("a"))
    assert "b" in tools.plus(named("b"))
    assert "b" not in tools


async def time_in(zone: str) -> str:
    return (await Tools(builtin_tools()).get("current_time").run({"timezone": zone}, CONTEXT)).content


async def test_the_time_is_told_with_offset_and_weekday() -> None:
    """ISO 8601 to the second, then the weekday and the zone."""
    form = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 \((Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, UTC\)"

    assert re.fullmatch(form, await time_in("UTC"))


@pytest.mark.parametrize(
    "zone", ["Mars/Base", "", "../etc/passwd", "/etc/passwd", "America", "a\x00b", "x" * 5000]
)
async def test_an_unknown_zone_is_a_clear_error(zone: str) -> None:
    """Whatever is asked for, the answer says that there is no such zone."""
    with pytest.raises(ToolError, match="There is no time zone"):
        await time_in(zone)


async def calculated(expression: str) -> str:
    return (await Tools(builtin_tools()).get("calculate").run({"expression": expression}, CONTEXT)).content


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("17*23", "391"),
        ("0.1 + 0.2", "0.3"),
        ("１７×２３ － （４＋５）", "382"),
        ("10 ÷ 4 − 1", "1.5"),
        ("1/3", "≈ 0.333333333333333 (exactly 1/3)"),
        ("-2 ** 2", "-4"),
        ("2 ** 3 ** 2", "512"),
        ("2^-1", "0.5"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("2**100", "1267650600228229401496703205376"),
        ("sqrt(16) + 9**0.5", "7"),
        ("sqrt(2)", "≈ 1.4142135623731"),
        ("round(2.5) + round(-2.5)", "0"),
        ("round(2.675, 2)", "2.68"),
        ("min(3, 1, 2) + max(1.5, 1)", "2.5"),
        ("floor(-1.5) + ceil(1.2) + abs(-3)", "3"),
        ("log(8, 2) + ln(e) + log10(100) + log2(4)", "≈ 8"),
        ("sin(0) + cos(π)", "≈ -1"),
        ("1e3 + .5", "1000.5"),
        ("-1.05", "-1.05"),
    ],
)
async def test_expressions_are_calculated_exactly(expression: str, result: str) -> None:
    """Integers and decimals are exact; only roots and the like are rounded, and marked so."""
    assert await calculated(expression) == result


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "empty"),
        ("1 +", "Expected a number after '1 \\+', found the end"),
        ("(1", "Expected '\\)' after '\\( 1', found the end"),
        ("1 2", "Unexpected '2' after '1'"),
        ("1,000 + 1", "without thousands separators"),
        ("1/0", "divides by zero"),
        ("0**-1", "divides by zero"),
        ("5 % 0.0", "divides by zero"),
        ("9**9**9", "too large"),
        ("9**9**9**9", "too large"),
        ("(10**900)**900", "too large"),
        ("1e999999999", "too large"),
        ("exp(1000)", "too large"),
        ("2.5 ** 100000.5", "too large"),
        ("sqrt(-1)", "sqrt\\(-1\\) is not defined"),
        ("log(0)", "log\\(0\\) is not defined"),
        ("(-8) ** 0.5", "no real power"),
        ("log(1, 2, 3)", "takes 1 or 2 values, got 3"),
        ("round(1.5, 0.5)", "whole number of digits"),
        ("__import__(1)", "'__import__' is not known"),
        ("open('x')", "part of an arithmetic expression"),
        ("os.system", "'.' at '.system' is not part"),
        ("a + 1", "'a' is not known. Known names: sqrt,"),
        ("3²", "'²' at '²' is not part"),
        ("(" * 400 + "1", "nested too deeply"),
        ("-" * 400 + "1", "nested too deeply"),
        ("1" * 501, "too long"),
    ],
)
async def test_what_cannot_be_calculated_is_explained(expression: str, message: str) -> None:
    """Nothing is evaluated as Python, nothing runs away, and the message says where it stopped."""
    with pytest.raises(ToolError, match=message):
        await calculated(expression)


@given(st.text(alphabet="0123456789.+-*/%^(), eπ×（）sqrtmaxloundgi", max_size=60))
async def test_any_expression_has_a_result_or_an_explanation(expression: str) -> None:
    """No text makes the calculator fail in any other way."""
    try:
        result = await calculated(expression)
    except ToolError as error:
        result = error.message
    assert result


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
async def test_integers_are_calculated_as_python_does(left: int, right: int) -> None:
    """Products, sums and differences of integers are exact."""
    assert await calculated(f"({left})*({right}) + ({left}) - ({right})") == str(left * right + left - right)
