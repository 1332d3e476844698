"""A server without the SDK, in a process of its own, whose calls are answered with as much as a message may
have: over standard streams, or at an address that it prints."""

import json
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

SIZE, PARTS = 8_380_000, 149_000
"""Bytes, and objects, lists and values."""


Way = Literal["program", "body", "stream"]


def array(part: str, number: int) -> str:
    return f"[{','.join([part] * number)}]"


def structured(value: str) -> str:
    return f'"result":{{"content":[],"structuredContent":{{"r":{value}}}}}'


def content(*blocks: str, more: str = "") -> str:
    joined = ",".join(blocks)
    return f'"result":{{"content":[{joined}]{more}}}'


def picture(data: str) -> str:
    return content(f'{{"type":"image","mimeType":"image/png","data":{data}}}')


def numbered(form: str, number: int) -> str:
    return ",".join(form % at for at in range(number))


def text(written: str) -> str:
    return f'{{"type":"text","text":"{written}"}}'


def beside() -> str:
    values = numbered('"v%06d"', PARTS - 10)
    return content(text("v" * 200_000), more=f',"structuredContent":[{values}]')


MANY = array("{}", PARTS // 2 - 10)
SHAPES: dict[str, Callable[[], str]] = {
    "objects": lambda: structured(array('{"a":1}', PARTS // 2)),
    "names": lambda: structured("{" + numbered('"%050d":1', PARTS - 10) + "}"),
    "names of objects": lambda: structured("[" + numbered('{"%090d":""}', PARTS // 2 - 5) + "]"),
    "values": lambda: structured(array("1", PARTS)),
    "too many values": lambda: structured(array("1", SIZE // 2 - 100)),
    "long numbers": lambda: structured(array("7" * 99, SIZE // 101)),
    "longer numbers": lambda: structured(array("7" * 300, SIZE // 302)),
    "texts": lambda: content(*[text("x")] * (PARTS // 3)),
    "parts of no type": lambda: content(*["{}"] * (PARTS // 2)),
    "annotations": lambda: content(f'{{"type":"text","text":"x","annotations":{MANY}}}'),
    "one text": lambda: content(text("x" * SIZE)),
    "escapes": lambda: content(text("\\n" * (SIZE // 2))),
    "characters": lambda: content(text("\\u4e00" * (SIZE // 6))),
    "half characters": lambda: content(text("\\ud83d" * (SIZE // 6))),
    "a text of JSON": lambda: content(text(array("1", SIZE // 2)), more=',"structuredContent":{"a":1}'),
    "beside a text": beside,
    "a picture": lambda: picture('"' + "QUJD" * (SIZE // 4) + '"'),
    "a strange picture": lambda: picture(MANY),
    "an error": lambda: f'"error":{{"code":1,"message":"no","data":{MANY}}}',
    "an error of parts": lambda: f'"error":{array("[1]", PARTS // 2)}',
    "meta": lambda: content(text("x"), more=f',"_meta":{{"a":{MANY}}}'),
    "something else": lambda: f'"result":{{"content":[],"a":{MANY}}}',
}
BEFORE = {
    "a notice": f'{{"method":"notifications/message","params":{{"data":{MANY}}}}}',
    "a question": f'{{"id":9,"method":"sampling/createMessage","params":{{"messages":{MANY}}}}}',
}
"""What comes before an answer."""
LISTS: dict[str, dict[str, Any]] = {
    "schemas": {f"t{n}": {f"p{m}": {"type": "string"} for m in range(140)} for n in range(40)},
    "a schema": {"t": {str(n): {} for n in range(70_000)}},
    "headers": {
        f"t{n}": {f"p{m}": {"type": "string", "x-mcp-header": f"a{m}"} for m in range(100)}
        for n in range(250)
    },
}
"""Tools that are listed, with their parameters."""


def known(listed: str) -> dict[str, Any]:
    """The results of what is no call."""
    named = {"it": {}, **LISTS.get(listed, {})}
    tools = [{"name": n, "inputSchema": {"type": "object", "properties": p}} for n, p in named.items()]
    server = {"name": "large", "version": "1"}
    begun = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    return {"initialize": begun, "tools/list": {"tools": tools}}


class Answers:
    """What is answered to each message, as JSON."""

    def __init__(self, listed: str) -> None:
        self._known = known(listed)

    def to(self, written: str | bytes) -> list[str]:
        message = json.loads(written)
        if "id" not in message or "method" not in message:
            return []
        identity = f'"jsonrpc":"2.0","id":{json.dumps(message["id"])}'
        if message["method"] == "tools/call":
            shape = message["params"]["arguments"]["shape"]
            answer = SHAPES[shape]() if shape in SHAPES else content(text("x"))
            return [*([BEFORE[shape]] if shape in BEFORE else []), f"{{{identity},{answer}}}"]
        if (result := self._known.get(message["method"])) is not None:
            return [f'{{{identity},"result":{json.dumps(result)}}}']
        return [f'{{{identity},"error":{{"code":-32601,"message":"no"}}}}']


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    way: Way
    answers: Answers

    def do_GET(self) -> None:
        self.send(405, "text/plain", "")

    def do_POST(self) -> None:
        answers = self.answers.to(self.rfile.read(int(self.headers["content-length"])))
        if not answers:
            self.send(202, "text/plain", "")
        elif self.way == "body":
            self.send(200, "application/json", answers[-1])
        else:
            self.send(200, "text/event-stream", "".join(f"data: {each}\n\n" for each in answers))

    def send(self, status: int, kind: str, written: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(written)))
        self.end_headers()
        self.wfile.write(written.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def main(way: Way, listed: str) -> None:
    answers = Answers(listed)
    if way == "program":
        for line in sys.stdin:
            for each in answers.to(line):
                sys.stdout.write(each + "\n")
            sys.stdout.flush()
        return
    Handler.way, Handler.answers = way, answers
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
