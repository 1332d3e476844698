"""An endpoint on loopback that tells of itself what a test says, as servers for local models do; its answers
are the demo model's."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.demo.connection import Act, Request, Script
from gateway.demo.server import Demo, reply_json, serve
from tests.loopback import TIMEOUT

Told = Callable[[Request], Sequence[Act]] | dict[str, Any] | bytes | int | None
"""What is answered: acts of a script, JSON, a body as it is, a status alone."""


@dataclass(slots=True)
class LocalEndpoint:
    """`told` has what is answered at `METHOD path`; whatever is not in it is 404, but for model calls, which
    the demo answers, as the model `answers_as` where that is set. `seen` are the questions, `bodies` those
    of the model calls; `refuses` is a status and a message for each of these."""

    told: Mapping[str, Told]
    answers_as: str | None = None
    refuses: tuple[int, str] | None = None
    seen: list[Request] = field(default_factory=list[Request])
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    demo: Demo = field(default_factory=lambda: Demo(0))

    def answer(self, request: Request) -> Script:
        if request.path.endswith("/v1/messages"):
            return self._call(request)
        self.seen.append(request)
        told = self.told.get(f"{request.method} {request.path}", 404)
        match told:
            case int():
                return Script(reply_json(told, {"error": {"message": "no"}}))
            case bytes():
                head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(told)
                return Script([head + told])
            case dict():
                return Script(reply_json(200, told))
            case None:
                return Script([3600.0])
            case _:
                return Script(told(request))

    def paths(self) -> list[str]:
        """The questions that were asked, without their queries."""
        return [f"{each.method} {each.path}" for each in self.seen]

    def _call(self, request: Request) -> Script:
        body = orjson.loads(request.body)
        self.bodies.append(body)
        if self.refuses is not None:
            status, message = self.refuses
            return Script(reply_json(status, {"error": {"type": "api_error", "message": message}}), True)
        if self.answers_as is not None:
            body = orjson.loads(request.body) | {"model": self.answers_as}
        headers = {"x-api-key": "any", **request.headers}
        return self.demo.answer(Request("POST", "/v1/messages", {}, headers, orjson.dumps(body)))


@asynccontextmanager
async def serving(endpoint: LocalEndpoint, port: int = 0) -> AsyncGenerator[str]:
    """The endpoint at this address."""
    async with serve(endpoint.answer, endpoint.demo.counters, port=port) as url:
        yield url


@contextmanager
def local_endpoint(told: Mapping[str, Told]) -> Generator[str]:
    """An endpoint in a thread, for a test that runs processes."""
    up, over, urls = threading.Event(), threading.Event(), list[str]()

    async def serve_until_over() -> None:
        async with serving(LocalEndpoint(told)) as url:
            urls.append(url)
            up.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve_until_over()), daemon=True)
    thread.start()
    assert up.wait(TIMEOUT)
    try:
        yield urls[0]
    finally:
        over.set()
        thread.join(TIMEOUT)


def llama(name: str = "gemma3-270m", *, n_ctx: Any = 8192, slots: Any = 1, **props: Any) -> dict[str, Told]:
    """llama-server with one model, as it answers GET /props and GET /v1/models."""
    meta = {
        "vocab_type": 1,
        "n_vocab": 262_144,
        "n_ctx_train": 32_768,
        "n_embd": 640,
        "n_params": 268_098_176,
    }
    entry = {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "llamacpp", "meta": meta}
    return {
        "GET /v1/models": {"object": "list", "data": [entry], "models": [{"name": name, "model": name}]},
        "GET /props": {
            "default_generation_settings": {"id": 0, "n_ctx": n_ctx, "params": {}},
            "total_slots": slots,
            "model_alias": name,
            "model_path": f"/models/{name}.gguf",
            "modalities": {"vision": False, "audio": False},
            "chat_template": "{{ messages }}",
            "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
            "build_info": "b10434",
            **props,
        },
    }


def vllm(name: str = "Qwen/Qwen3-8B", max_model_len: Any = 40_960) -> dict[str, Told]:
    """vLLM (its `ModelCard` in /v1/models)."""
    card = {"id": name, "object": "model", "owned_by": "vllm", "root": name, "max_model_len": max_model_len}
    return {"GET /v1/models": {"object": "list", "data": [card]}}


def ollama(
    names: Sequence[str] = ("gemma3:270m",),
    *,
    capabilities: Sequence[str] = ("completion", "tools"),
    running: Mapping[str, int] | None = None,
    parameters: str = 'stop "<end_of_turn>"',
) -> dict[str, Told]:
    """Ollama (docs.ollama.com: /v1/models, "Show model details", "List running models")."""
    data = [
        {"id": name, "object": "model", "created": 1_790_000_000, "owned_by": "library"} for name in names
    ]
    loaded = [
        {"name": name, "model": name, "size": 1, "context_length": window}
        for name, window in (running or {}).items()
    ]

    def show(request: Request) -> Sequence[Act]:
        if orjson.loads(request.body)["model"] not in names:
            return reply_json(404, {"error": "model not found"})
        info = {"general.architecture": "gemma3", "gemma3.context_length": 32_768}
        return reply_json(
            200, {"model_info": info, "capabilities": list(capabilities), "parameters": parameters}
        )

    return {
        "GET /v1/models": {"object": "list", "data": data},
        "POST /api/show": show,
        "GET /api/ps": {"models": loaded},
    }


def lm_studio(*models: tuple[str, str, int | None]) -> dict[str, Told]:
    """LM Studio with models of (id, type, window with which it is loaded) (lmstudio.ai "REST API v0")."""
    plain = [{"id": name, "object": "model", "owned_by": "organization_owner"} for name, _, _ in models]
    own = [
        {
            "id": name,
            "object": "model",
            "type": kind,
            "arch": "qwen3",
            "state": "not-loaded" if window is None else "loaded",
            "max_context_length": 131_072,
            **({} if window is None else {"loaded_context_length": window}),
        }
        for name, kind, window in models
    ]
    return {
        "GET /v1/models": {"object": "list", "data": plain},
        "GET /api/v0/models": {"object": "list", "data": own},
    }
