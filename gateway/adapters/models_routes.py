"""The list of models, as the SDKs of OpenAI and of Anthropic ask for it."""

from typing import Any

import orjson
from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.anthropic.anthropic_message import error_body
from gateway.errors import GatewayError, NotFound
from gateway.http.endpoint import endpoint, endpoints_of
from gateway.http.requests import ApiRequest

JSON = "application/json"


@endpoint("GET", "/v1/models", "model.list", {200: (JSON,)}, problem=JSON)
async def index(request: ApiRequest) -> Response:
    """The models that a request may choose, in a form that the SDKs of OpenAI and of Anthropic read."""
    found = [_model(name) for name in request.settings.models]
    about = {"has_more": False, "first_id": found[0]["id"], "last_id": found[-1]["id"]}
    return _json({"object": "list", "data": found, **about})


@endpoint("GET", "/v1/models/{model:path}", "model.read", {200: (JSON,)}, refusals=(404,), problem=JSON)
async def one(request: ApiRequest) -> Response:
    """One of them."""
    name = request.path_text("model")
    check_model(request, name)
    return _json(_model(name))


def check_model(request: ApiRequest, name: str | None) -> None:
    """Raises errors.NotFound for a model that a request may not choose; None is the default."""
    if name is not None and name not in request.settings.models:
        raise NotFound(
            f"The model {name[:100]!r} is not one of this gateway's: see /v1/models.",
            code="model_not_found",
            details={"param": "model"},
        )


def _model(name: str) -> dict[str, object]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "gateway",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


def _json(value: object) -> Response:
    return Response(orjson.dumps(value), 200, {"cache-control": "no-store"}, JSON)


def _problem(error: GatewayError, status: int, request_id: str) -> tuple[bytes, str]:
    """What both SDKs read."""
    about: dict[str, Any] = orjson.loads(error_body(error.code, error.message, status, request_id))
    code = "invalid_api_key" if status == 401 else error.code
    about["error"] |= {"param": (error.details or {}).get("param"), "code": code}
    return orjson.dumps(about), JSON


ADAPTER = Adapter("/v1/models", endpoints_of(__name__), _problem)
