"""The short form of prompt and tools: when it is chosen, what it leaves out, and how large it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs.prompt_sizes import WINDOWS, sizes, table
from gateway.history.tokens import START
from gateway.prompt.components import PromptFolder
from gateway.prompt.prompt_profile import OPTIONAL, SMALL_WINDOW, offered
from gateway.tools.registry import Tools
from gateway.tools.short_specs import short_spec
from tests.harness import Client, running_gateway
from tests.product import FunctionTool, Settings, ToolSpec, tool

pytestmark = pytest.mark.anyio

HELLO = 20
"""Tokens of a one-word message with its marks, at most."""


def _named(name: str, words: int = 10) -> FunctionTool:
    async def run(text: str) -> str:
        return text

    run.__doc__ = "Does it. " + "word " * words
    return tool(effect="read_only", name=name)(run)


async def _preview(client: Client, **query: Any) -> dict[str, Any]:
    return (await client.get("/api/prompts/preview", **query)).json()


async def _with(settings: Settings, **given: Any) -> dict[str, Any]:
    async with running_gateway(settings.model_copy(update=given)) as client:
        return await _preview(client)


@pytest.mark.parametrize("window", WINDOWS)
async def test_prompt_and_tools_take_a_quarter_of_a_small_window_at_most(
    settings: Settings, window: int
) -> None:
    """As estimated, with the margin that estimates have."""
    shown = await _with(settings, context_window=window)
    assert START * (shown["tokens"] + shown["tool_tokens"]) <= window / 4
    assert shown["profile"] == ("small" if window < 32_768 else "full")


async def test_a_first_hello_needs_twelve_hundred_tokens_with_memory_on(settings: Settings) -> None:
    """And seven hundred where as little as possible is on."""
    usual = await _with(settings, context_window=8192)
    assert usual["tokens"] + usual["tool_tokens"] + HELLO <= 1200
    assert "manage_memory" in usual["tools"]
    least = {"memory": False, "max_schedules": 0, "bundled_skills": False}
    small = await _with(settings, context_window=8192, **least)
    assert small["tokens"] + small["tool_tokens"] + HELLO <= 700


async def test_a_large_window_and_an_unknown_one_get_the_full_prompt(settings: Settings) -> None:
    """Nothing changes for those who have room."""
    usual = await _with(settings)
    assert usual["profile"] == "full"
    assert usual["left_out"] == []
    assert await _with(settings, context_window=200_000) == usual
    assert (await _with(settings, context_window=SMALL_WINDOW + 1))["profile"] == "full"


@pytest.mark.parametrize("window", [None, 4096, 200_000])
async def test_one_setting_chooses_the_form(settings: Settings, window: int | None) -> None:
    """Whatever is known of the window; without one that is small no tool is left out."""
    full = await _with(settings, prompt_profile="full", context_window=window)
    small = await _with(settings, prompt_profile="small", context_window=window)
    assert (full["profile"], small["profile"]) == ("full", "small")
    assert bool(small["left_out"]) == (window == 4096)
    assert small["tool_tokens"] < full["tool_tokens"] / 2


async def test_tools_that_a_policy_denies_are_not_sent(settings: Settings) -> None:
    """Every one of them is named in the preview, in any form of the prompt, and what is allowed stays."""
    none = await _with(settings, tool_policy=("*=deny",))
    assert none["tools"] == []
    assert {each["why"] for each in none["left_out"]} == {"denied"}
    assert not any("skills" in layer["components"] for layer in none["layers"])
    some = await _with(settings, tool_policy=("calculate=allow", "*=deny"), context_window=4096)
    assert some["tools"] == ["calculate"]


async def test_denied_tools_are_not_in_the_request(settings: Settings) -> None:
    """The turn's first call names them as left out, and the model reads nothing of them."""
    async with running_gateway(settings.model_copy(update={"tool_policy": ("*=deny",)})) as client:
        await client.http.delete(f"{settings.anthropic_base_url}/demo/requests")
        events = await client.chat("/say hello")
        kept = await client.http.get(f"{settings.anthropic_base_url}/demo/requests")

    (start,) = [event["data"] for event in events if event["type"] == "iteration_start"]
    assert "manage_memory" in start["tools_left_out"]
    assert "prompt_profile" not in start
    assert kept.status_code == 200
    assert all(not each.get("body", each).get("tools") for each in kept.json()["requests"])


def test_optional_tools_are_left_out_in_the_stated_order() -> None:
    """Built-in ones first, as listed; then others, the largest first; no more than necessary."""
    own = [_named("own_small", 5), _named("own_large", 40)]
    tools = Tools([*(_named(name) for name in OPTIONAL), *own])
    order: list[str] = []
    for room in range(2000, -1, -5):
        left = [each.name for each in offered(tools, (), "small", room).left_out]
        assert left[: len(order)] == order or set(order) <= set(left)
        order = left
    assert order == [*OPTIONAL, "own_large", "own_small"]


def test_the_same_tools_are_the_same_objects() -> None:
    """What a turn asks again costs nothing."""
    tools = Tools([_named("one"), _named("two")])
    assert offered(tools, (), "full", None).specs is tools.specs()
    assert offered(tools, ("one=deny",), "small", 500) is offered(tools, ("one=deny",), "small", 500)


def test_the_operators_own_component_wins_over_a_short_one_of_ours(tmp_path: Path) -> None:
    """Beside it, or as its own short variant; an empty file means nothing in any form."""
    (tmp_path / "style.md").write_text("Answer in rhyme.")
    (tmp_path / "language.md").write_text("")
    folder = PromptFolder(tmp_path)
    assert _texts(folder)["style"] == "Answer in rhyme."
    assert "language" not in _texts(folder)
    assert _texts(folder)["identity"] == _texts(PromptFolder())["identity"]
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "style.md").write_text("Rhyme.")
    (tmp_path / "small" / "identity.md").write_text("Nobody.")
    assert _texts(folder)["style"] == "Rhyme."
    assert _texts(folder)["identity"] != "Nobody."  # a variant belongs to the file beside it
    assert {item.name: item.text for item in folder.read().items}["style"] == "Answer in rhyme."


def _texts(folder: PromptFolder) -> dict[str, str]:
    return {item.name: item.text for item in folder.read(short=True).items}


SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string", "description": "What it is called. In a few words.", "examples": ["a"]},
        "default": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
    },
    "required": ["title", "either"],
    "$defs": {"row": {"type": "object", "title": "Row", "properties": {"title": {"type": "string"}}}},
}


def test_a_short_schema_keeps_its_meaning() -> None:
    """Properties that are named like keywords stay; what fits the short form fits the full one."""
    short = short_spec(ToolSpec("it", "Does it. And more.", SCHEMA))
    assert short.description == "Does it."
    properties = short.input_schema["properties"]
    assert set(properties) == set(SCHEMA["properties"])
    assert properties["title"]["description"] == "What it is called."
    assert properties["default"] == {"type": "integer"}
    assert properties["either"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert properties["labels"]["additionalProperties"] == {"type": "string"}
    Draft202012Validator.check_schema(short.input_schema)
    given = {"title": "x", "default": 1, "either": None, "labels": {"a": "b"}, "rows": [{"title": "y"}]}
    Draft202012Validator(short.input_schema).validate(given)
    Draft202012Validator(SCHEMA).validate(given)


async def test_every_short_form_of_ours_is_a_part_of_the_full_one(settings: Settings) -> None:
    """The same name and required parameters, and no parameter that the full form lacks."""
    full = (await _catalog(settings))["skills"]
    for each in full:
        if each["type"] == "function":
            schema = each["metadata"]["parameters"]
            short = short_spec(ToolSpec(each["name"], each["description"], schema))
            assert set(short.input_schema.get("properties", {})) <= set(schema["properties"])
            assert short.input_schema.get("required") == schema.get("required")
            assert len(json.dumps(short.input_schema)) <= len(json.dumps(schema))


async def _catalog(settings: Settings) -> dict[str, Any]:
    async with running_gateway(settings) as client:
        return (await client.get("/api/skills")).json()


async def test_the_sizes_in_the_documentation_are_those_of_this_version(settings: Settings) -> None:
    """`python -m docs.prompt_sizes` prints the table anew."""
    page = (Path(__file__).parents[2] / "docs" / "prompts.md").read_text()
    assert table(await sizes(settings)) in page
