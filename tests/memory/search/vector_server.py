"""An embeddings API whose vectors mean something, and which misbehaves on request."""

import asyncio
import hashlib
import json
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

MEANINGS = (
    ("cat", "pet", "kitten", "猫", "宠物"),
    ("music", "piano", "song", "钢琴", "音乐"),
    ("food", "eat", "dinner", "吃", "饭"),
    ("database", "postgres", "storage engine", "数据库"),
    ("travel", "flight", "airport", "旅行", "机场"),
)
"""Words of one line mean the same."""
DIMENSIONS = 64

Fault = Literal[
    "500", "429", "400", "401", "307", "not json", "no data", "a list", "nan", "words", "huge", "zero",
    "empty", "too few", "twice", "uneven", "another size", "silence",
]  # fmt: skip


WHOLE_ANSWERS = {"not json": "<html>busy</html>", "no data": '{"object": "list"}', "a list": "[1, 2]"}


class VectorServer:
    """`fault` is how it misbehaves, `failures` how often it fails before it works. With `poison` it refuses
    every request with that word in it. `asked` holds the bodies of all requests."""

    def __init__(self) -> None:
        self.url = ""
        self.fault: Fault | None = None
        self.failures = 0
        self.poison: str | None = None
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.app = Starlette(routes=[Route("/v1/embeddings", self._answer, methods=["POST"])])

    @property
    def texts(self) -> list[str]:
        """All texts that were embedded, documents and queries."""
        return [text for body in self.asked for text in body["input"]]

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers.get("authorization"))
        if self.poison and any(self.poison in text for text in body["input"]):
            return JSONResponse({"error": {"message": "refused"}}, 400)
        if self.failures:
            self.failures -= 1
            return JSONResponse({"error": {"message": "busy"}}, 503)
        if self.fault == "silence":
            await asyncio.Event().wait()
        if self.fault is not None and self.fault.isdigit():
            return JSONResponse({"error": {"message": "no"}}, int(self.fault))
        if self.fault in WHOLE_ANSWERS:
            return Response(WHOLE_ANSWERS[self.fault], media_type="application/json")
        vectors = [damaged(meaning(text), self.fault) for text in body["input"]]
        data = [{"index": number, "embedding": vector} for number, vector in enumerate(vectors)]
        match self.fault:
            case "too few":
                data.pop()
            case "twice":
                data = [data[0], *data]
            case "uneven":
                data[0]["embedding"] = [1.0]
            case _:
                pass
        # Out of order, as an endpoint may answer; and NaN as Python's json writes it, which is no JSON.
        return Response(
            json.dumps({"data": data[::-1], "model": body["model"]}), media_type="application/json"
        )


def damaged(vector: list[Any], fault: Fault | None) -> list[Any]:
    match fault:
        case "zero":
            return [0.0] * len(vector)
        case "another size":
            return vector[:7]
        case "empty":
            return []
        case "nan" | "words" | "huge":
            return [*vector[1:], {"nan": float("nan"), "words": "0.5", "huge": 10**400}[fault]]
        case _:
            return vector


def meaning(text: str) -> list[float]:
    """A direction for each of MEANINGS that is in the text, and a little of its own."""
    noise = hashlib.shake_256(text.encode()).digest(DIMENSIONS)
    vector = [(byte - 127.5) / 1275 for byte in noise]
    for number, words in enumerate(MEANINGS):
        if any(word in text.casefold() for word in words):
            vector[number] += 2.0
    return vector
