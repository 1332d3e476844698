"""The models that a turn may choose, with what is known of each and who says it."""

from typing import Literal

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.model.endpoint_facts import EndpointFacts, Lifecycle
from gateway.model.model_limits import Limit, Source, notices, output_limit, window_limit

Thinking = Literal["enabled", "adaptive"]


class TokenLimit(Reply):
    """A number of tokens, and who says it: `setting`, the `endpoint`, the `price_list` that comes with the
    gateway, or nobody (`assumed`)."""

    tokens: int
    source: Source


class ChoosableModel(Reply):
    """A model that a turn may choose. What is absent is not known; all but its tokens is as its endpoint
    says."""

    id: str
    is_default: bool
    context_window: TokenLimit = Field(description="What it reads at once, with what it writes.")
    max_output: TokenLimit = Field(description="The most tokens that a call asks it for.")
    images: bool | None = Field(None, description="Whether it looks at images.")
    pdfs: bool | None = Field(None, description="Whether it looks at PDFs.")
    tools: bool | None = Field(None, description="Whether it calls tools; false: it is offered none.")
    thinking: list[Thinking] | None = Field(
        None, description="The ways it takes to think: with a budget (`enabled`), as it decides (`adaptive`)."
    )
    lifecycle: Lifecycle | None = None
    retires_at: str | None = Field(None, description="The day when it is to be retired.")


class ChoosableModels(Reply):
    """The default first. `endpoint` is the server behind it, as far as it tells (`anthropic`, `llama.cpp`,
    `vllm`, `ollama`, …), `slots` how many requests that answers at once; `notices` are sentences for who runs
    the gateway: a model that is to be retired, several to choose a default of."""

    models: list[ChoosableModel]
    endpoint: str | None = None
    slots: int | None = None
    notices: list[str]


@endpoint("GET", "/api/models", "model.list", {200: (ChoosableModels,)})
async def choosable_models(request: ApiRequest) -> Response:
    """The models that your turns may choose, the default first, with what is known of each: how much it reads
    and writes, whether it looks at images and PDFs, calls tools, thinks."""
    settings, facts = request.settings, request.app.state.endpoint
    models = [await _model(request, facts, name) for name in settings.models]
    return json_reply(
        ChoosableModels(
            models=models, endpoint=facts.kind, slots=facts.slots, notices=notices(settings, facts)
        )
    )


async def _model(request: ApiRequest, facts: EndpointFacts, name: str) -> ChoosableModel:
    settings, about = request.settings, facts.of(name)
    ways: list[Thinking] | None = None
    if about.thinking is not None:
        ways = [way for way in ("enabled", "adaptive") if way in about.thinking]
    return ChoosableModel(
        id=name,
        is_default=name == settings.model,
        context_window=_tokens(await window_limit(settings, name, facts)),
        max_output=_tokens(output_limit(settings, about)),
        images=about.images,
        pdfs=about.pdfs,
        tools=about.tools,
        thinking=ways,
        lifecycle=about.lifecycle,
        retires_at=about.retires_at,
    )


def _tokens(limit: Limit) -> TokenLimit:
    return TokenLimit(tokens=limit.tokens, source=limit.source)
