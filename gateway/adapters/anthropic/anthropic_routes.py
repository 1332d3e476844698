"""Messages and their tokens, as Anthropic's SDKs and the frontends made for them ask for them."""

import orjson
from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.anthropic.anthropic_frames import AnthropicMessageStream, WholeMessage
from gateway.adapters.anthropic.anthropic_message import STATUSES, error_body
from gateway.adapters.anthropic.anthropic_requests import (
    MessagesBody,
    check_possible,
    conversation_of,
    counted_messages,
    tools_of,
    wanted_sampling,
)
from gateway.adapters.client_conversation import ClientConversation
from gateway.adapters.conversation_turn import HEADERS, AskedTurn, ask, worked
from gateway.adapters.models_routes import JSON, check_model
from gateway.adapters.turn_response import answer_stream, whole_answer
from gateway.errors import GatewayError
from gateway.http.endpoint import STREAM, endpoint, endpoints_of
from gateway.http.public_address import page_address
from gateway.http.requests import ApiRequest
from gateway.messages import ToolSpec

NO_RETRY = {"x-should-retry": "false"}
"""The SDKs would begin the turn anew: the gateway itself has repeated what may be."""


@endpoint(
    "POST",
    "/v1/messages",
    "turn.start",
    {200: (JSON, STREAM)},
    MessagesBody,
    refusals=(404, 409, 413, 429, 502, 503),
    problem=JSON,
    headers=HEADERS,
    carries=("tool_result.give",),
)
async def create(request: ApiRequest) -> Response:
    """The answer to the newest message, as a stream or whole: with results of the client's tools, what comes
    after them."""
    body = await request.read_body(MessagesBody, "adapter_body_size")
    check_possible(body)
    check_model(request, body.model)
    conversation = await worked(request, lambda: conversation_of(body))
    tools = tools_of(body)
    estimate = await _tokens(request, body, conversation, tools)
    asking = await ask(request, conversation, model=body.model, tools=tools, sampling=wanted_sampling(body))
    return await _answer(request, body, asking, estimate)


@endpoint(
    "POST",
    "/v1/messages/count_tokens",
    "token.count",
    {200: (JSON,)},
    MessagesBody,
    refusals=(404, 413),
    problem=JSON,
)
async def count_tokens(request: ApiRequest) -> Response:
    """About how many tokens the model counts for a conversation, with the gateway's own prompt."""
    body = await request.read_body(MessagesBody, "adapter_body_size")
    check_model(request, body.model)
    conversation = await worked(request, lambda: conversation_of(body))
    found = await _tokens(request, body, conversation, tools_of(body))
    return Response(orjson.dumps({"input_tokens": found}), 200, {"cache-control": "no-store"}, JSON)


async def _tokens(
    request: ApiRequest, body: MessagesBody, conversation: ClientConversation, tools: list[ToolSpec]
) -> int:
    model, prompts = body.model or request.settings.model, request.gateway.prompts
    usable = await prompts.usable(tools)
    return await worked(
        request, lambda: prompts.tokens(model, conversation.instructions, counted_messages(body), usable)
    )


async def _answer(request: ApiRequest, body: MessagesBody, asking: AskedTurn, estimate: int) -> Response:
    place, decided, accepted_at = asking
    turn = place.turn
    assert turn is not None
    about = turn.id, turn.model, f"{page_address(request)}#s={turn.session_id}", estimate
    shows_calls = _knows_mcp(request)
    if body.stream:
        stream = AnthropicMessageStream(*about, shows_calls=shows_calls)
        return answer_stream(request, place, stream, decided=decided, accepted_at=accepted_at)
    message = WholeMessage(*about, shows_calls=shows_calls)
    await whole_answer(request, place, message, decided=decided)
    named = {"x-session-id": turn.session_id, "x-turn-id": turn.id, "cache-control": "no-store"}
    if message.failure is not None:
        code, why = message.failure
        status = STATUSES.get(code, 502)
        return Response(error_body(code, why), status, named | NO_RETRY, JSON)
    return Response(message.body(), 200, named, JSON)


def _knows_mcp(request: ApiRequest) -> bool:
    """Whether the client asks for the beta `mcp-client`, as the API's do. Others make texts without text of
    its blocks, and LangChain complains of each."""
    return "mcp-client" in ",".join(request.headers.getlist("anthropic-beta"))


def _problem(error: GatewayError, status: int, request_id: str) -> tuple[bytes, str]:
    return error_body(error.code, error.message, status, request_id), JSON


ADAPTER = Adapter("/v1/messages", endpoints_of(__name__), _problem, ("request-id", "x-should-retry"))
