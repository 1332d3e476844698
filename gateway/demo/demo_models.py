"""The models that the demo lists, with what they can do: in the form of the Models API, as the types
`ModelInfo` and `ModelCapabilities` of the `anthropic` package have it. It answers to any other name, too."""

from typing import Any

MODEL = "demo"
"""Its own name."""

_WINDOWS = {
    MODEL: 200_000,
    "claude-sonnet-5-5": 1_000_000,
    "claude-opus-5-5": 1_000_000,
    "claude-haiku-5-5": 1_000_000,
    "claude-sonnet-4-5": 200_000,
}
_MAX_OUTPUT = 64_000
_WITH_BUDGET = frozenset({MODEL, "claude-sonnet-4-5"})
"""Models that take a budget for thinking; the others decide themselves (api_versions.py refuses it)."""


def model_list(window: int | None) -> dict[str, Any]:
    """The answer to GET /v1/models; `window` is that of all of them, where it is set."""
    names = list(_WINDOWS)
    data = [model_info(name, window) for name in names]
    return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}


def model_info(name: str, window: int | None) -> dict[str, Any] | None:
    """The answer to GET /v1/models/{id}; None: it lists no such model."""
    if name not in _WINDOWS:
        return None
    return {
        "type": "model",
        "id": name,
        "display_name": "Demo" if name == MODEL else f"Demo as {name}",
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "deprecated_at": None,
        "retires_at": None,
        "line": None,
        "max_input_tokens": window or _WINDOWS[name],
        "max_tokens": _MAX_OUTPUT,
        "capabilities": _capabilities(name),
    }


def _capabilities(name: str) -> dict[str, Any]:
    yes, no = {"supported": True}, {"supported": False}
    budget = yes if name in _WITH_BUDGET else no
    return {
        "batch": no,
        "citations": no,
        "code_execution": no,
        "context_management": no,
        "effort": {**no, "low": no, "medium": no, "high": no, "max": no},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {**no, "web_search": no, "code_execution": no},
        "structured_outputs": no,
        "thinking": {
            **yes,
            "types": {"enabled": budget, "adaptive": yes, "disabled": yes, "between_tools": no},
        },
    }
