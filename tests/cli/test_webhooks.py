"""Webhooks on the command line."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue

import pytest
from standardwebhooks.webhooks import Webhook

from gateway.client import GatewayClient
from tests.cli.calling import Command
from tests.loopback import TIMEOUT
from tests.running import Running, gateway_process

Post = tuple[dict[str, str], bytes]


@contextmanager
def listening(status: int) -> Generator[tuple[str, "Queue[Post]"]]:
    """An address that answers every post so, and the posts."""
    posts = Queue[Post]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            posts.put((dict(self.headers), body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/", posts
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def open_to_loopback(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    given = {"GATEWAY_WEBHOOK_HOSTS": "127.0.0.1", "GATEWAY_WEBHOOK_RETRIES": "0.05"}
    with gateway_process(tmp_path_factory.mktemp("gateway"), **given) as gateway:
        yield gateway


def test_a_webhook_from_its_beginning_to_its_end(command: Command, open_to_loopback: Running) -> None:
    """The secret alone is on standard output, for `SECRET=$(gateway webhooks add …)`."""
    at = ("--url", open_to_loopback.url)
    with listening(200) as (address, posts):
        made = command("webhooks", "add", address, "--event", "turn.finished", *at)
        secret = made.out.strip()
        assert secret.startswith("whsec_")
        webhook_id = made.err.split()[0]
        listed = command("webhooks", "list", *at)
        assert [listed.out.splitlines()[1].split()[n] for n in (0, 1, 2, 3)] == [
            webhook_id,
            address,
            "turn.finished",
            "on",
        ]

        tested = command("webhooks", "test", webhook_id, *at)

        assert (tested.code, tested.out.split(" (")[0]) == (0, "Delivered: 200")
        headers, body = posts.get(timeout=TIMEOUT)
        assert Webhook(secret).verify(body, headers)["type"] == "webhook.test"
        assert command("webhooks", "disable", webhook_id, *at).out == f"{webhook_id} is off.\n"
        assert command("webhooks", "list", *at).out.splitlines()[1].split()[3] == "off"
        assert command("webhooks", "enable", webhook_id, *at).out == f"{webhook_id} is on.\n"
        assert command("webhooks", "delete", webhook_id, *at).out == f"{webhook_id} is deleted.\n"
        assert command("webhooks", "list", *at).err == f"There is no webhook at {open_to_loopback.url}.\n"


def test_what_did_not_arrive_is_listed_and_replayed(command: Command, open_to_loopback: Running) -> None:
    at = ("--url", open_to_loopback.url)
    with listening(500) as (address, posts), GatewayClient(open_to_loopback.url) as client:
        webhook_id = command("webhooks", "add", address, *at).err.split()[0]
        tested = command("webhooks", "test", webhook_id, *at)
        assert (tested.code, tested.out.split(" (")[0]) == (1, "Not delivered: It answered 500.")
        client.start_turn(client.create_session()["id"], "/say hi")
        for _ in range(3):  # the test and two tries
            posts.get(timeout=TIMEOUT)
        while not (dead := client.deliveries(webhook_id, state="dead")["deliveries"]):
            pass

        shown = command("webhooks", "deliveries", webhook_id, *at)
        replayed = command("webhooks", "replay", webhook_id, *at)

        assert dead[0]["id"] in shown.out
        assert "It answered 500." in shown.out
        assert replayed.out == "1 are tried again.\n"
        posts.get(timeout=TIMEOUT)
        found = command("webhooks", "deliveries", webhook_id, "--json", *at)
        assert [each["id"] for each in json.loads(found.out)["deliveries"]] == [dead[0]["id"]]
        command("webhooks", "delete", webhook_id, *at)


def test_an_address_that_is_not_public_is_refused(command: Command, running: Running, tmp_path: Path) -> None:
    refused = command("webhooks", "add", "https://10.0.0.5/", "--url", running.url)
    assert refused.code == 1
    assert "GATEWAY_WEBHOOK_HOSTS" in refused.err
