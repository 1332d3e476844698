"""A server without the SDK, of a version before 2026, over standard streams: it behaves as it is told."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

WAY = sys.argv[1]
OBJECT = {"type": "object"}
asked = Counter[str]()


def tell(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools() -> list[Any]:
    names = {
        "many": [f"tool_{number}" for number in range(1000)],
        "fickle": ["asked", f"tool_{asked['lists']}"],
        "child": ["child", "pid"],
    }.get(WAY, ["echo", "pid"])
    if WAY == "nonsense":
        return [asked["lists"]] * 300
    listed: list[Any] = [{"name": name, "inputSchema": OBJECT} for name in names]
    if WAY == "odd":
        listed += [
            "not a tool",
            {"inputSchema": OBJECT},
            {"name": "no_schema"},
            {"name": "list_schema", "inputSchema": {"type": "array"}},
            {"name": "odd_hint", "inputSchema": OBJECT, "annotations": {"readOnlyHint": "顺便"}},
            {"name": "huge_schema", "inputSchema": {**OBJECT, "description": "长" * 70_000}},
            {
                "name": "far_schema",
                "inputSchema": {**OBJECT, "properties": {"a": {"$ref": "http://x.test/s"}}},
            },
            {
                "name": "checked",
                "inputSchema": OBJECT,
                "outputSchema": {**OBJECT, "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
            },
        ]
    return listed


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    match WAY, name:
        case "huge", "echo":
            text = "大" * 17_000_000
        case "parts", "echo":
            return {"content": [], "structuredContent": {"a": [[]] * 150_000}}
        case "brackets", "echo":
            text = "[1,2]," * 110_000
        case "hangs", "echo":
            time.sleep(3600)
            text = "never"
        case "quits", "echo":
            sys.stderr.write(f"leaving with {os.environ['TRIAL_TOKEN']}\n")
            sys.exit(7)
        case "odd", "checked":
            return {"content": [], "structuredContent": {"a": "a" * 60 + "!"}, "tools": ["no list of tools"]}
        case "result", "echo":
            return {"content": [], "resultType": "who knows"}
        case _, "pid":
            text = str(os.getpid())
        case _, "child":
            child = [sys.executable, "-c", "import time; time.sleep(3600)"]
            text = str(subprocess.Popen(child, stdin=subprocess.DEVNULL).pid)
        case _, "asked":
            text = json.dumps(asked)
        case _:
            text = json.dumps(arguments, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            version = "1999-01-01" if WAY == "version" else "2025-06-18"
            server = {"name": "scripted", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            asked["lists"] += 1
            pages = {"nextCursor": str(asked["lists"])} if WAY in ("pages", "nonsense") else {}
            odd = {"_meta": ["no object"]} if WAY == "odd" else {}
            return {"tools": tools(), **pages, **odd}
        case "tools/call":
            return call(params["name"], params.get("arguments", {}))
        case _:
            return None


def change_always() -> None:
    while True:
        asked["notices"] += 1
        tell({"method": "notifications/tools/list_changed"})
        time.sleep(0.01)


if WAY == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
while WAY == "flood":
    sys.stdout.write("这不是消息\n")
while WAY == "endless":
    sys.stdout.write("x" * 65_536)
for line in sys.stdin:
    message = json.loads(line)
    if WAY == "chatty":
        sys.stdout.buffer.write(b"Starting up \xff\xfe\n{\n" * 20)
    if WAY == "silent" or "id" not in message:
        continue
    if WAY == "fickle" and message["method"] == "initialize":
        threading.Thread(target=change_always, daemon=True).start()
    result = answer(message["method"], message.get("params", {}))
    missing = {"error": {"code": -32601, "message": "Method not found"}}
    tell({"id": message["id"], **(missing if result is None else {"result": result})})
while WAY == "deaf":
    time.sleep(3600)
