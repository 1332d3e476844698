"""JSON is told by its shape."""

import tracemalloc
from typing import Any

import jsonpath
import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.artifacts.compact.json_shape import LARGEST_PARSED, closed, json_form
from gateway.artifacts.content import bytes_content, measure
from tests.artifacts.test_compact import MAX_TOKENS, compact
from tests.product import estimate_tokens

KEYS = st.text(max_size=8) | st.sampled_from(["id", "name", "订单", "a b", "$", "0"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)
CONTAINERS = st.lists(VALUES, max_size=6) | st.dictionaries(KEYS, VALUES, max_size=6)


def test_an_array_of_objects_is_told_by_the_fields_of_its_items() -> None:
    orders = [
        {"id": n, "客户": {"name": "李雷"}, "tags": ["a"] * (n % 3), **({"note": "急"} if n % 2 else {})}
        for n in range(300)
    ]
    form = compact(orjson.dumps({"orders": orders, "next": None, "ok": True}))
    assert form.text.split("\n") == [
        "JSON: object with 3 keys",
        "orders: array of 300 objects",
        "  id: integer, e.g. 0",
        "  客户: object",
        '    name: string, e.g. "李雷"',
        '  tags: array of 0 to 2 strings, e.g. "a"',
        '  note?: string, e.g. "急"',
        "next: null",
        "ok: boolean, e.g. true",
    ]
    assert form.examples["json_path"] == "$.orders[0]"
    assert form.examples["search"] == "orders"


def test_what_is_deep_makes_way_for_what_is_near() -> None:
    """Every key of the first level is named before any of the second."""
    form = compact(orjson.dumps({f"key{n}": {f"inner{m}": m for m in range(20)} for n in range(20)}))
    assert all(f"\nkey{n}: object with 20 keys" in form.text for n in range(20))
    assert "inner" not in form.text


def test_many_keys_are_counted() -> None:
    form = compact(orjson.dumps({f"k{n}": n for n in range(1000)}))
    assert form.text.startswith("JSON: object with 1,000 keys\nk0: integer, e.g. 0")
    assert form.text.endswith("…") or form.text.endswith("… 970 more keys")


def test_a_large_json_is_told_by_its_head_and_says_so() -> None:
    data = orjson.dumps({"rows": [{"id": n, "text": "汉字" * 50} for n in range(15_000)]})
    assert len(data) > LARGEST_PARSED
    form = compact(data)
    assert form.text.startswith(
        "JSON (counted in its first 65,536 bytes): object with 1 key\nrows: array of at least "
    )
    assert "\n  id: integer, e.g. 0\n" in form.text
    assert form.examples["json_path"] == "$.rows[0]"


def test_json_that_cannot_be_parsed_is_told_like_text_with_the_reason() -> None:
    assert compact("[" * 10_000 + "]" * 10_000).text.startswith("JSON, too deep to be parsed: 1 line\n1: [[[")
    broken = compact("[" + "1,\n" * 40_000 + "oops]")
    assert broken.text.startswith("JSON, broken in line 40,001: 40,001 lines\n1: [1,")
    long = compact(b'{"data": "' + b"x" * LARGEST_PARSED + b'"}')
    assert long.text.startswith('JSON, too large to be parsed: 1 line\n1: {"data": "xxx')


def test_of_many_small_containers_only_the_head_is_parsed() -> None:
    """They would take many times the memory of their bytes, and the time of all that runs beside."""
    for unit in (b"[],", b'{"a":1},', b"1,"):
        data = b"[" + unit * (LARGEST_PARSED // len(unit) - 1) + b"1]"
        content = bytes_content(data)
        measured = measure(content)
        tracemalloc.start()
        try:
            form = json_form(content, measured)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert form.text.startswith("JSON (counted in its first 65,536 bytes): array of at least ")
        assert peak < 4 * len(data)


def test_a_number_beyond_64_bits_is_told_as_it_is() -> None:
    form = compact(
        b'{"id": 123456789012345678901234, "least": -9223372036854775809, "long": %b}' % (b"7" * 300)
    )
    assert form.text.startswith(
        "JSON: object with 3 keys\nid: integer, e.g. 123456789012345678901234\n"
        "least: integer, e.g. -9223372036854775809\nlong: integer, e.g. 777"
    )
    assert estimate_tokens(form.text) < 150


@given(CONTAINERS)
def test_any_json_has_a_short_shape_and_a_path_that_exists(value: Any) -> None:
    form = compact(orjson.dumps(value))
    assert form.text.startswith("JSON: ")
    assert estimate_tokens(form.text) <= MAX_TOKENS
    if path := form.examples.get("json_path"):
        assert jsonpath.JSONPathEnvironment(strict=True).findall(path, value)


@given(CONTAINERS, st.integers(0, 400))
def test_the_beginning_of_any_json_is_closed_to_a_json_or_to_nothing(value: object, cut: int) -> None:
    head = closed(orjson.dumps(value)[:cut])
    if head:
        orjson.loads(head)
