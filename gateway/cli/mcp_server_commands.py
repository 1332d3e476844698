"""`gateway mcp list`, `login` and `logout`: the MCP servers of a running gateway."""

import socket
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

if TYPE_CHECKING:
    from gateway.cli.findings import Finding

PATH = "/callback"
MAX_HEAD = 16_384
"""Bytes of a browser's request that are looked at."""

Name = Annotated[str, typer.Argument(help="The server, as the settings name it.")]


def list_(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show the MCP servers, and which of them need a sign-in."""
    from gateway.cli.session_commands import print_json
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.mcp_servers()
    if as_json:
        print_json(found)
        return
    for server in found["servers"]:
        print(_line(server))
    if not found["servers"]:
        print("The settings name no MCP servers (docs/mcp.md).")


def login(
    name: Name,
    *,
    paste: Annotated[
        bool, typer.Option("--paste", help="The browser is on another machine: paste where it came back to.")
    ] = False,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Sign the gateway in to an MCP server, in a browser.

    Prints the address to open, and waits for the browser to come back to this machine.
    """
    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient

    with socket.create_server(("127.0.0.1", 0)) as listener, GatewayClient(url, key) as client:
        redirect_uri = f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}"
        begun = client.begin_mcp_sign_in(name, redirect_uri)
        to_stderr("Open this address in a browser, and sign in:")
        print(begun["url"], flush=True)
        if paste:
            target = typer.prompt("The address where the browser came back to", err=True)
        else:
            target = _came_back(listener, begun["expires_in"])
        signed_in = client.finish_mcp_sign_in(**_answer_in(target))
    print(f"The gateway is signed in to {signed_in['name']}.")


def logout(name: Name, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Have the gateway forget its sign-in to an MCP server."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.end_mcp_sign_in(name)
    print(f"The gateway is signed out of {name}.")


def check_mcp_servers(url: str, key: str | None) -> "list[Finding]":
    """For `gateway doctor URL`: how the MCP servers of that gateway are doing, and which need a sign-in.
    Nothing where it is not this key's to see."""
    from gateway.cli.findings import Finding
    from gateway.client import GatewayClient
    from gateway.errors import GatewayError

    try:
        with GatewayClient(url, key) as client:
            servers = client.mcp_servers()["servers"]
    except GatewayError:  # the check of its streams says so, or it is of a version without them
        return []
    return [
        Finding("good" if server["status"] == "connected" else "warning", "MCP server", _line(server))
        for server in servers
    ]


def _line(server: dict[str, Any]) -> str:
    words = {
        "connected": f"connected, {server['tools']} tools",
        "connecting": "connecting",
        "needs_sign_in": f"needs sign-in: gateway mcp login {server['name']}",
    }
    state = words.get(server["status"]) or f"not connected: {server.get('error', '')}"
    return f"{server['name']}  {state}{', signed in' if server['is_signed_in'] else ''}"


def _came_back(listener: socket.socket, seconds: float) -> str:
    """The target of the request with which a browser comes back; others, as for an icon, are turned away."""
    from time import monotonic

    end = monotonic() + seconds
    while (left := end - monotonic()) > 0:
        listener.settimeout(left)
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            break
        with connection:
            connection.settimeout(5)
            try:
                target = _target(connection)
                is_it = target.startswith(f"{PATH}?")
                status = "200 OK" if is_it else "404 Not Found"
                says = b"Chat Gateway: you can close this window." if is_it else b""
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(says)}"
                connection.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode() + says)
            except OSError:
                continue
        if is_it:
            return target
    raise typer.BadParameter("Nobody came back in time. Begin again.")


def _target(connection: socket.socket) -> str:
    head = b""
    while b"\r\n" not in head and len(head) < MAX_HEAD:
        if not (piece := connection.recv(4096)):
            break
        head += piece
    parts = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    return parts[1] if len(parts) == 3 and parts[0] == "GET" else ""


def _answer_in(target: str) -> dict[str, str]:
    from urllib.parse import parse_qs, urlsplit

    given = parse_qs(urlsplit(target.strip()).query)
    found = {name: given[name][0] for name in ("state", "code", "iss", "error") if name in given}
    if "state" not in found:
        raise typer.BadParameter("This is not the address where the browser came back to: it has no `state`.")
    return found
