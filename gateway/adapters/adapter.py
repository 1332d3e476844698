"""What an adapter adds to the application, and which of them are switched on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from gateway.http.endpoint import Endpoint
from gateway.http.error_responses import ProblemWriter, native_problem

MODULES = {
    "a2a": "gateway.adapters.a2a.a2a_routes",
    "ag-ui": "gateway.adapters.ag_ui.ag_ui_routes",
    "ai-sdk": "gateway.adapters.ai_sdk.ai_sdk_routes",
    "anthropic": "gateway.adapters.anthropic.anthropic_routes",
    "durable-streams": "gateway.adapters.durable_streams.durable_streams_routes",
    "mcp": "gateway.adapters.mcp.mcp_routes",
    "models": "gateway.adapters.models_routes",
    "openai": "gateway.adapters.openai.openai_routes",
}
"""By the names of the setting `adapters`. They are imported when they are switched on: some need an extra."""
WITH_MODELS = frozenset({"anthropic", "openai"})
"""Those whose clients ask for the list of models."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """A dialect: its routes, all under `prefix`, how it words a refusal, and which headers of its answers
    pages of other origins may read."""

    prefix: str
    endpoints: Sequence[Endpoint]
    write_problem: ProblemWriter = native_problem
    exposed_headers: Sequence[str] = ()


def switched_on(names: Sequence[str]) -> Mapping[str, Adapter]:
    """The adapters of these names, and what they share. Raises ImportError when an extra is missing."""
    shared = [] if WITH_MODELS.isdisjoint(names) else ["models"]
    return {name: import_module(MODULES[name]).ADAPTER for name in (*names, *shared)}
