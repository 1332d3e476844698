"""`python -m tests.real_model.record`: keeps in tests/endpoints/llama.cpp what the real server answers, byte
for byte but for the frames of its chunks, which are made anew when it is played."""

import http.client
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.real_model.running_llama import ENVIRONMENT, MODEL, TEMPLATE, RunningLlama, running_llama

HERE = Path(__file__).parents[1] / "endpoints" / "llama.cpp"
_CALCULATE = {
    "name": "calculate",
    "description": "Works out an arithmetic expression",
    "input_schema": {
        "type": "object",
        "properties": {"expression": {"type": "string"}},
        "required": ["expression"],
    },
}
_IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQABAAAAACw="},
}
_SAYS_IT_FIRST = [
    {"role": "user", "content": "Say what you do, then calculate 7*16."},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I calculate 7*16."},
            {"type": "tool_use", "id": "a", "name": "calculate", "input": {"expression": "7*16"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "112"}]},
    {"role": "assistant", "content": "The result is 112."},
]


def _keep(name: str, port: int, method: str, path: str, body: Any = None) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request(method, path, body and json.dumps(body), {"content-type": "application/json"})
    response = connection.getresponse()
    head = [f"HTTP/1.1 {response.status} {response.reason}", *(f"{k}: {v}" for k, v in response.getheaders())]
    HERE.mkdir(parents=True, exist_ok=True)
    content = response.read().replace(str(ENVIRONMENT).encode(), b"/opt/llama")
    (HERE / f"{name}.http").write_bytes("\n".join([*head, "", ""]).encode() + content)
    connection.close()
    sys.stdout.write(f"{name} {response.status}\n")


def _message(
    name: str, port: int, *turns: Any, tools: Sequence[Any] = (), most: int = 200, stream: bool = True
) -> None:
    messages = [{"role": "user", "content": each} if isinstance(each, str) else each for each in turns]
    body = {"model": MODEL, "max_tokens": most, "stream": stream, "messages": messages}
    _keep(name, port, "POST", "/v1/messages", body | ({"tools": list(tools)} if tools else {}))


def _record(log: Path) -> None:
    loading = RunningLlama(log, "--context", "4096")
    loading.start()
    while (status := loading.status_of("/health")) != 503 and status != 200:
        pass
    if status == 503:
        _message("loading", loading.port, "Hello")
        _keep("health_loading", loading.port, "GET", "/health")
    loading.kill()
    options = ("--context", "4096", "--template", str(TEMPLATE))
    with running_llama(log, *options) as plain:
        for path in ("health", "props", "slots", "v1/models"):
            _keep(path.replace("/", "_"), plain.port, "GET", f"/{path}")
        _message("text", plain.port, "What is the capital of France?")
        # The first token is a piece of a character, which the server holds back, and with it message_start.
        _message("no_message_start", plain.port, "你好", tools=[_CALCULATE])
        _message("chinese_tool", plain.port, "计算17*23。", tools=[_CALCULATE])
        _message(
            "text_and_tool",
            plain.port,
            *_SAYS_IT_FIRST,
            "Say what you do, then calculate 12*13.",
            tools=[_CALCULATE],
        )
        _message("two_tools", plain.port, "Calculate 3*4 and 5*6.", tools=[_CALCULATE])
        _message("cut_at_max_tokens", plain.port, "Tell me a story about a river.", most=12)
        _message("overflow", plain.port, "The river is long. " * 1500)
        _message("not_streamed", plain.port, "What is the capital of France?", stream=False)
        _message("no_images", plain.port, {"role": "user", "content": [_IMAGE]})
        _message("cut_in_tool", plain.port, "Calculate 3*4 and 5*6.", tools=[_CALCULATE], most=14)
        _keep(
            "count_tokens",
            plain.port,
            "POST",
            "/v1/messages/count_tokens",
            {"messages": [{"role": "user", "content": "Hello"}]},
        )
    with running_llama(log, *options, "--thinks") as thinking:
        _message("thinking_and_text", thinking.port, "Hello", tools=[_CALCULATE])
        _message("thinking_alone", thinking.port, "Hello", tools=[_CALCULATE], most=4)
    with running_llama(log, "--context", "256", "--template", str(TEMPLATE)) as small:
        _message("context_full", small.port, "Tell me a story about a river.", most=2000)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        _record(Path(folder) / "llama.log")
