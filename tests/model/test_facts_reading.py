"""What the answers of endpoints about themselves say, and what is no use in them."""

from typing import Any

import anthropic.types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.demo.demo_models import model_info, model_list
from gateway.model import facts_reading as reading
from gateway.model.endpoint_facts import NOTHING, EndpointFacts, ModelFacts
from tests.local_endpoint import llama, lm_studio, ollama, vllm

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    [
        *("data", "models", "id", "type", "capabilities", "meta", "n_ctx", "max_model_len", "supported"),
        *("default_generation_settings", "total_slots", "modalities", "model_info", "parameters", "thinking"),
        *("types", "enabled", "image_input", "architecture", "input_modalities", "lifecycle", "retires_at"),
        *("general.architecture", "chat_template_caps", "status", "state", "loaded_instances", "owned_by"),
    ]
)
SHAPED = st.recursive(
    JSON, lambda inner: st.dictionaries(NAMES, inner, max_size=6) | st.lists(inner, max_size=3)
)


@given(SHAPED)
def test_no_answer_makes_the_reading_fail(answer: Any) -> None:
    """Whatever JSON comes: it is read or passed over, and numbers that are kept are within their bounds."""
    found = [each.facts for each in reading.listed_in(answer)]
    found.append(reading.model_facts(answer))
    props, shown = reading.props_in(answer), reading.ollama_facts(answer, None)
    found += [props.facts] if props is not None else []
    found += [shown] if shown is not None else []
    reading.kind_in(answer, "")
    reading.ollama_running(answer)

    for facts in found:
        for tokens in (facts.context_window, facts.max_output):
            assert tokens is None or reading.MIN_TOKENS <= tokens <= reading.MAX_TOKENS
    assert props is None or props.slots is None or 1 <= props.slots <= reading.MAX_SLOTS


@pytest.mark.parametrize(
    "lie", [0, -1, 10**30, 1e30, "8192", "many", True, float("nan"), float("inf"), None, [8192], {"n": 1}, 7]
)
def test_a_number_that_cannot_be_says_nothing(lie: Any) -> None:
    """A window of 0, of 10**30, of words: it is as if nothing had been said, and so with slots and vLLM's."""
    props = reading.props_in(llama(n_ctx=lie, slots=lie if lie != 7 else 0)["GET /props"])

    assert props is not None
    assert (props.facts.context_window, props.slots) == (None, None)
    (listed,) = reading.listed_in(vllm(max_model_len=lie)["GET /v1/models"])
    assert listed.facts.context_window is None


def test_a_whole_number_that_is_written_as_a_float_is_that_number() -> None:
    """Writers of JSON without integers write 8192.0."""
    props = reading.props_in(llama(n_ctx=8192.0, slots=2.0)["GET /props"])

    assert props is not None
    assert (props.facts.context_window, props.slots) == (8192, 2)


def test_claudes_capabilities_are_read_from_the_types_of_the_sdk() -> None:
    """Windows, most output, images, PDFs and ways to think, as ModelInfo has them; the demo answers so."""
    answer = model_info("claude-sonnet-5-5", None)
    anthropic.types.ModelInfo.model_validate(answer, strict=False)

    facts = reading.model_facts(answer)

    assert facts == ModelFacts(
        context_window=1_000_000,
        max_output=64_000,
        images=True,
        pdfs=True,
        thinking=frozenset({"adaptive"}),
        lifecycle="active",
    )
    assert reading.kind_in(model_list(None), "") == "anthropic"


def test_a_model_that_is_to_be_retired_has_its_day() -> None:
    """`lifecycle` and `retires_at`; what is no date is none."""
    answer = {**(model_info("demo", None) or {}), "lifecycle": "deprecated"}

    assert reading.model_facts({**answer, "retires_at": "2027-02-01T00:00:00Z"}).retires_at == "2027-02-01"
    assert reading.model_facts({**answer, "retires_at": "soon"}).retires_at is None
    assert reading.model_facts({**answer, "lifecycle": "dying"}).lifecycle is None


def test_a_model_that_does_not_think_takes_no_way_to() -> None:
    """`thinking.supported` false is the empty set, and not unknown."""
    assert reading.model_facts({"capabilities": {"thinking": {"supported": False}}}).thinking == frozenset()
    assert reading.model_facts({"capabilities": {}}).thinking is None


def test_llama_cpp_says_window_slots_images_and_tools() -> None:
    """In /props; documents it does not take. Its list says how long the model was trained for."""
    told = llama(n_ctx=8192, slots=4, chat_template_caps={"supports_tools": False})
    props = reading.props_in(told["GET /props"])

    assert props is not None
    assert props.facts == ModelFacts(context_window=8192, images=False, pdfs=False, tools=False)
    assert props.slots == 4
    (listed,) = reading.listed_in(told["GET /v1/models"])
    assert (listed.name, listed.facts.context_window) == ("gemma3-270m", 32_768)
    assert reading.kind_in(told["GET /v1/models"], "") == "llama.cpp"


def test_ollamas_window_is_the_one_that_it_runs_with() -> None:
    """Before what the model's file sets, and that before what the model was trained for."""
    shown = {
        "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
        "capabilities": ["completion"],
    }
    set_ = {**shown, "parameters": "temperature 0.7\nnum_ctx                        16384\n"}

    facts = [reading.ollama_facts(*each) for each in ((shown, None), (set_, None), (set_, 4096))]

    assert [each.context_window for each in facts if each] == [131_072, 16_384, 4096]
    assert facts[0] is not None
    assert (facts[0].tools, facts[0].images, facts[0].pdfs) == (False, False, False)
    assert reading.ollama_running(ollama(running={"gemma3:270m": 4096})["GET /api/ps"]) == {
        "gemma3:270m": 4096
    }


def test_lm_studio_says_which_models_are_loaded_and_which_are_for_chats() -> None:
    """With the window that each is loaded with."""
    told = lm_studio(("qwen3-8b", "llm", 8192), ("llava", "vlm", None), ("e5", "embeddings", 512))
    chat, sees, vectors = reading.listed_in(told["GET /api/v0/models"])

    assert (chat.is_loaded, chat.chats, chat.facts.context_window) == (True, True, 8192)
    assert (sees.is_loaded, sees.facts.images, sees.facts.context_window) == (False, True, 131_072)
    assert not vectors.chats


def test_openrouters_list_says_what_each_model_takes() -> None:
    """Context, most output, images, files, tools."""
    entry = {
        "id": "qwen/qwen3-32b",
        "context_length": 40_960,
        "architecture": {"input_modalities": ["text"]},
        "top_provider": {"context_length": 40_960, "max_completion_tokens": 16_384},
        "supported_parameters": ["max_tokens", "temperature"],
    }

    (listed,) = reading.listed_in({"data": [entry]})

    assert listed.facts == ModelFacts(40_960, 16_384, images=False, pdfs=False, tools=False)


def test_names_that_cannot_be_shown_are_left_out_of_a_list() -> None:
    """Control characters, endless names, numbers, and the second of a name."""
    names: list[Any] = ["a", "a", "", "b\n", "c" * 300, 7, None, "d"]

    assert [each.name for each in reading.listed_in({"data": [{"id": name} for name in names]})] == ["a", "d"]


def test_a_fact_stands_before_an_older_one_and_gaps_are_filled() -> None:
    """False is said, None is not."""
    assert ModelFacts(images=False).over(ModelFacts(4096, images=True)) == ModelFacts(4096, images=False)


def test_a_name_is_known_as_ollama_completes_it() -> None:
    """`gemma3` is `gemma3:latest` there; a server with one model answers to every name."""
    facts = EndpointFacts(listed=("gemma3:latest",), models={"gemma3:latest": ModelFacts(4096)})

    assert facts.of("gemma3").context_window == 4096
    assert facts.lists("gemma3")
    assert facts.of("other") == NOTHING
    facts.any_model = ModelFacts(8192)
    assert facts.of("other").context_window == 8192
