"""The answers of endpoints about themselves and their models, read into facts. Pure: no I/O.

Nothing here raises for what an answer holds: a part that is not as expected says nothing.

Sources: `ModelInfo` and `ModelCapabilities` of the `anthropic` package; the README of llama.cpp's server
(GET /props, GET /v1/models); vLLM and SGLang (`max_model_len` in /v1/models);
docs.ollama.com "Show model details" and "List running models"; lmstudio.ai "REST API v0"; openrouter.ai
"Models" (`context_length`, `top_provider`, `architecture`, `supported_parameters`).
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

from gateway.model.endpoint_facts import STAGES, Lifecycle, Listed, ModelFacts

MAX_LISTED = 2000
"""Models of a list that are looked at."""
MAX_NAME_LENGTH = 256
MIN_TOKENS, MAX_TOKENS = 256, 100_000_000
"""A window or an answer of fewer or more tokens is a mistake of the endpoint's, and says nothing."""
MAX_SLOTS = 10_000

_OWNERS = {
    "llamacpp": "llama.cpp",
    "vllm": "vllm",
    "sglang": "sglang",
    "library": "ollama",
    "organization_owner": "lm studio",
    "anthropic": "anthropic",
}
"""What servers say in `owned_by` of the models that they list."""
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
_WITHOUT_DOCUMENTS = frozenset({"llama.cpp", "ollama"})
"""Servers that take no document blocks: docs.ollama.com "Anthropic compatibility" says so, llama.cpp drops
them."""


class Props(NamedTuple):
    """What llama.cpp tells in /props. `is_router`: it stands before several models, and says nothing of
    them."""

    facts: ModelFacts
    slots: int | None
    is_router: bool


def tokens_in(value: object) -> int | None:
    """A believable number of tokens."""
    return _number(value, MIN_TOKENS, MAX_TOKENS)


def listed_in(answer: object) -> list[Listed]:
    """The models of a list: `data` as OpenAI and Anthropic have it, or `models`."""
    found: dict[str, Listed] = {}
    for item in _items(answer):
        name = _first_text(item, "id", "key", "model", "name")
        if name is not None and name not in found:
            found[name] = Listed(name, model_facts(item), _is_loaded(item), _chats(item))
    return list(found.values())


def kind_in(answer: object, server: str) -> str | None:
    """The server behind a list of models, by its entries and by the header `server`."""
    if "llama.cpp" in server.lower():
        return "llama.cpp"
    for item in _items(answer):
        if isinstance(owner := item.get("owned_by"), str) and (kind := _OWNERS.get(owner.lower())):
            return kind
        if item.get("type") == "model" and "capabilities" in item and "lifecycle" in item:
            return "anthropic"
    return None


def model_facts(item: object) -> ModelFacts:
    """What an entry of a list, or an answer about one model, says of it."""
    takes, ways = _at(item, "architecture", "input_modalities"), _at(item, "capabilities")
    parameters = _at(item, "supported_parameters")
    return ModelFacts(
        context_window=_first_tokens(
            item,
            ("loaded_context_length",),
            ("meta", "n_ctx"),
            ("max_input_tokens",),
            ("max_model_len",),
            ("context_length",),
            ("context_window",),
            ("max_context_length",),
            ("meta", "n_ctx_train"),
        ),
        max_output=_first_tokens(
            item,
            ("max_output_tokens",),
            ("top_provider", "max_completion_tokens"),
            ("max_completion_tokens",),
            ("max_tokens",),
        ),
        images=_first_known(
            _flag(_at(ways, "image_input", "supported")),
            _flag(_at(ways, "vision")),
            _has(takes, "image"),
            True if _at(item, "type") == "vlm" or _has(ways, "vision") else None,
        ),
        pdfs=_first_known(_flag(_at(ways, "pdf_input", "supported")), _has(takes, "file")),
        tools=_first_known(
            _has(parameters, "tools"), True if _has(ways, "tool_use") or _has(ways, "tools") else None
        ),
        thinking=_thinking(_at(ways, "thinking")),
        lifecycle=_lifecycle(_at(item, "lifecycle")),
        retires_at=_day(_at(item, "retires_at")),
    )


def props_in(answer: object) -> Props | None:
    """llama.cpp's /props; None: it is not that."""
    settings, slots = _at(answer, "default_generation_settings"), _at(answer, "total_slots")
    if not isinstance(settings, dict) and slots is None:
        return None
    facts = ModelFacts(
        context_window=tokens_in(_at(settings, "n_ctx")),
        images=_flag(_at(answer, "modalities", "vision")),
        pdfs=False,
        tools=_flag(_at(answer, "chat_template_caps", "supports_tools")),
    )
    return Props(facts, _number(slots, 1, MAX_SLOTS), _at(answer, "role") == "router")


def ollama_facts(answer: object, running: int | None) -> ModelFacts | None:
    """Ollama's /api/show; None: it is not that. `running` is the window with which it has the model loaded:
    how long that is follows from the server's settings, and may be a small part of what the model could
    read."""
    info, abilities = _at(answer, "model_info"), _at(answer, "capabilities")
    if not isinstance(info, dict) and not isinstance(abilities, list):
        return None
    architecture = _at(info, "general.architecture")
    trained = tokens_in(_at(info, f"{architecture}.context_length"))
    set_ = _NUM_CTX.search(parameters) if isinstance(parameters := _at(answer, "parameters"), str) else None
    knows = isinstance(abilities, list)
    thinks = _has(abilities, "thinking")
    return ModelFacts(
        context_window=running or (tokens_in(int(set_[1])) if set_ else None) or trained,
        images=_has(abilities, "vision") if knows else None,
        pdfs=False,
        tools=_has(abilities, "tools") if knows else None,
        thinking=frozenset[str]() if thinks is False else None,
    )


def ollama_running(answer: object) -> dict[str, int | None]:
    """The models that Ollama has loaded (/api/ps), each with its window."""
    found: dict[str, int | None] = {}
    for item in _items(answer):
        if (name := _first_text(item, "model", "name")) is not None:
            found[name] = tokens_in(item.get("context_length"))
    return found


def takes_documents(kind: str | None) -> bool | None:
    """Whether a server takes document blocks at all, where that is known."""
    return False if kind in _WITHOUT_DOCUMENTS else None


def _items(answer: object) -> list[Mapping[str, Any]]:
    for name in ("data", "models"):
        if isinstance(found := _at(answer, name), list):
            items = cast("list[object]", found)[:MAX_LISTED]
            return [cast("dict[str, Any]", each) for each in items if isinstance(each, dict)]
    return []


def _at(value: object, *path: str) -> object:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, object]", value).get(name)
    return value


def _number(value: object, least: int, most: int) -> int | None:
    """A whole number within these bounds; JSON writers that know no integers write 4096.0."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and least <= value <= most else None


def _first_tokens(item: object, *paths: tuple[str, ...]) -> int | None:
    return next((found for path in paths if (found := tokens_in(_at(item, *path))) is not None), None)


def _first_text(item: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        value = item.get(name)
        if isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH and value.isprintable():
            return value
    return None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _first_known(*values: bool | None) -> bool | None:
    return next((value for value in values if value is not None), None)


def _has(values: object, name: str) -> bool | None:
    """Whether the list has that entry; None: it is none."""
    return name in cast("list[object]", values) if isinstance(values, list) else None


def _thinking(capability: object) -> frozenset[str] | None:
    supported, types = _flag(_at(capability, "supported")), _at(capability, "types")
    if supported is False:
        return frozenset()
    if not isinstance(types, dict):
        return None
    return frozenset(
        name for name in ("enabled", "adaptive") if _at(cast("object", types), name, "supported") is True
    )


def _lifecycle(value: object) -> Lifecycle | None:
    return next((stage for stage in STAGES if stage == value), None)


def _day(value: object) -> str | None:
    try:
        return datetime.fromisoformat(value).date().isoformat() if isinstance(value, str) else None
    except ValueError:
        return None


def _is_loaded(item: Mapping[str, Any]) -> bool | None:
    """LM Studio says it in `state` or `loaded_instances`, llama.cpp's router in `status.value`."""
    state = item.get("state") or _at(item, "status", "value")
    if isinstance(state, str):
        return state == "loaded"
    instances = item.get("loaded_instances")
    return bool(instances) if isinstance(instances, list) else None


def _chats(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    abilities = item.get("capabilities")
    if kind in {"embeddings", "embedding"}:
        return False
    return not (isinstance(abilities, list) and "embedding" in abilities and "completion" not in abilities)
