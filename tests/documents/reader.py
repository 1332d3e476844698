"""A reader types the commands of a page in their order, in a folder of their own, beside a gateway with the
demo model; each must end well and print what the page shows."""

import base64
import re
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tests.documents.blocks import Block, blocks
from tests.documents.shell import Shell, shell
from tests.loopback import free_port
from tests.running import ROOT, gateway_process

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
)
MAKE = "`make run` installs, and then is the `gateway dev` of the tests"
DOCKER = "Docker; tests/observability/test_compose.py reads the files"
SCALING = "tests/stories/test_scaling_commands.py types them, with nginx and PostgreSQL"
SERVICE = "a service or a key of somebody else"
EXAMPLE = "npm's packages and a browser; tests/clients uses the same packages"
NOT_TYPED = {
    "make run": MAKE,
    "docker compose": DOCKER,
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": SERVICE,
    "gateway eval claude": SERVICE,
    "gateway move": "a PostgreSQL server; tests/storage/moving move sessions to one",
    "npm install": EXAMPLE,
    "examples/order_desk/README.md": "tests/stories/test_order_desk.py has them, in a copy of the folder",
    "examples/home/README.md": "tests/stories/test_home_example.py starts it, in a copy of the folder",
    "gateway slack": "Slack; tests/adapters/test_slack.py runs it before a stand-in",
    "nginx": SCALING,
    "psql": SCALING,
    "gateway serve --port 800$n": SCALING,
    "gateway provider-keys": "a gateway that encrypts; tests/cli/test_provider_keys.py starts one",
    "gateway memory confirm": "what waits comes from tools; tests/cli/test_memory.py confirms one",
}
"""Why a block is not typed, by words that stand in it, or by its page."""
STAYS_OPEN = ("/events -H 'Last-Event-ID: 12'", '"session_id":"door"', '"session_id": "near"', "gateway.demo")
"""Words of a block whose last command goes on until somebody leaves it: it is left when it has printed what
the page shows, and the next commands are typed in another terminal."""
FILES: dict[str, bytes] = {
    "logo.png": PNG,
    "payments.log": b"2026-11-20 12:00:01 ERROR card refused\n",
    "orders.json": b'{"orders": []}',
    "notes.txt": "先做原型。\n".encode("gbk"),
    "new.txt": b"Grid of 24 units.\n",
}
"""What readers have themselves."""


def not_typed(block: Block) -> list[str]:
    return [words for words in NOT_TYPED if words in block.commands or words == block.page]


def type_in(terminal: Shell, block: Block) -> None:
    before, makes, _ = block.commands.partition("make run")
    if makes:
        terminal.run(replace(block, commands=before, output=""))
    if not_typed(block):
        return
    if block.only_sets:
        terminal.check_settings(block)
    elif block.starts_a_gateway:
        terminal.start_gateway(block)
    elif any(words in block.commands for words in STAYS_OPEN):
        terminal.leave_open(block)
    else:
        terminal.run(block)


@contextmanager
def beside_a_gateway(folder: Path, page: str) -> Generator[Shell]:
    """A shell where the addresses of the page are those of a gateway, and of another one if it has two."""
    gateways = {
        shown: folder / name
        for shown, name in (("localhost:8000", "here"), ("localhost:9000", "there"))
        if shown in (ROOT / page).read_text() or name == "here"
    }
    with ExitStack() as stack:
        urls = dict[str, str]()
        for shown, data in gateways.items():
            data.mkdir()
            urls[shown] = stack.enter_context(gateway_process(data)).url
        url = urls["localhost:8000"]
        addresses = {**urls, "http://127.0.0.1:8000": url, "8801": str(free_port())}
        yield stack.enter_context(shell(folder / "here", addresses, GATEWAY_URL=url))


def put_files(folder: Path, page: str) -> None:
    """What a reader of the page has: files of their own, and the document that the page shows."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    if document := re.search(r'```json\n(\{\n  "id": "d_(\w+)".*?)```', (ROOT / page).read_text(), re.DOTALL):
        (folder / "documents").mkdir()
        (folder / "documents" / f"logo-design-skill-{document[2]}.json").write_text(document[1])


def type_all(page: str, folder: Path) -> None:
    """Raises AssertionError: a command fails, or does not print what the page shows."""
    with beside_a_gateway(folder, page) as terminal:
        put_files(folder / "here", page)
        for block in blocks(page):
            type_in(terminal, block)
