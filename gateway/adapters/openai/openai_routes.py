"""Chat completions, as OpenAI's SDKs and the frontends made for them ask for them; and the adapter, which has
responses as well."""

from collections.abc import Mapping

from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.conversation_turn import HEADERS, AskedTurn, ask, worked
from gateway.adapters.models_routes import JSON, check_model
from gateway.adapters.openai import responses_routes
from gateway.adapters.openai.openai_frames import (
    NO_RETRY,
    STATUSES,
    CompletionChunks,
    WholeCompletion,
    error_body,
)
from gateway.adapters.openai.openai_requests import (
    CHAT,
    ChatCompletionBody,
    check_possible,
    conversation_of,
    tools_of,
    wanted_sampling,
)
from gateway.adapters.turn_response import answer_stream, whole_answer
from gateway.errors import GatewayError, InvalidRequest
from gateway.http.endpoint import STREAM, endpoint, endpoints_of
from gateway.http.public_address import page_address
from gateway.http.requests import ApiRequest

KINDS: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


@endpoint(
    "POST",
    "/v1/chat/completions",
    "turn.start",
    {200: (JSON, STREAM)},
    ChatCompletionBody,
    refusals=(404, 409, 413, 429, 502, 503),
    problem=JSON,
    headers=HEADERS,
    carries=("tool_result.give",),
)
async def complete(request: ApiRequest) -> Response:
    """The answer to the newest message, in chunks or whole: with results of the client's tools, what comes
    after them."""
    body = await request.read_body(ChatCompletionBody, "adapter_body_size")
    check_possible(body)
    check_model(request, body.model)
    conversation = await worked(request, lambda: conversation_of(enumerate(body.messages), CHAT))
    tools = tools_of(body.tools or (), body.tool_choice) if conversation.question is not None else ()
    asking = await ask(request, conversation, model=body.model, tools=tools, sampling=wanted_sampling(body))
    return await _answer(request, body, asking)


async def _answer(request: ApiRequest, body: ChatCompletionBody, asking: AskedTurn) -> Response:
    place, decided, accepted_at = asking
    turn = place.turn
    assert turn is not None
    about = turn.id, turn.model, turn.created_at // 1000, f"{page_address(request)}#s={turn.session_id}"
    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage is True
        chunks = CompletionChunks(*about, with_usage=with_usage)
        return answer_stream(request, place, chunks, decided=decided, accepted_at=accepted_at)
    completion = WholeCompletion(*about)
    await whole_answer(request, place, completion, decided=decided)
    named = {"x-session-id": turn.session_id, "x-turn-id": turn.id, "cache-control": "no-store"}
    if completion.failure is not None:
        code, message = completion.failure
        return Response(error_body(code, message), STATUSES.get(code, 502), named | NO_RETRY, JSON)
    return Response(completion.body(), 200, named, JSON)


def _problem(error: GatewayError, status: int, _request_id: str) -> tuple[bytes, str]:
    kind = KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    param = (error.details or {}).get("param")
    if isinstance(error, InvalidRequest) and param is None and error.message.startswith("tools: "):
        param = "tools"
    code = "invalid_api_key" if status == 401 else error.code
    return error_body(code, error.message, param, kind), JSON


ADAPTER = Adapter("/v1", endpoints_of(__name__, responses_routes.__name__), _problem)
