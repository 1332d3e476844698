"""A test's side of the paraphrasing model: it scripts it, and sees what it was given."""

import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.loopback import TIMEOUT
from tests.paraphrasing_model.scripts import Asked
from tests.paraphrasing_model.server import message_texts, serve_paraphrasing_model, texts_of


@dataclass(frozen=True, slots=True)
class Given:
    """What one request gave the model: `system`, its prompt, and `said`, the texts of the messages in their
    order; blanks are joined."""

    system: str
    said: tuple[str, ...]
    body: Mapping[str, Any]

    def __contains__(self, text: str) -> bool:
        return any(" ".join(text.split()) in each for each in (self.system, *self.said))


@dataclass(frozen=True, slots=True)
class Scripted:
    """A model at `url`."""

    url: str
    http: httpx2.AsyncClient

    async def script(
        self,
        message: str,
        *steps: Mapping[str, Any] | list[Mapping[str, Any]],
        asked: Asked = "answer",
        says: Mapping[str, Any] | str | None = None,
        wait: float = 0,
    ) -> None:
        """For messages in which `message` stands, from now on; see `scripts.py`."""
        given = {"message": message, "asked": asked, "steps": steps, "says": says, "wait": wait}
        response = await self.http.post("/scripts", json=given)
        assert response.status_code == 200, response.text

    async def requests(self, limit: int = 200) -> list[Given]:
        """The newest requests, the oldest first."""
        shown = (await self.http.get(f"/requests?limit={limit}")).json()["requests"]
        return [given_of(each["body"]) for each in shown]

    async def last(self) -> Given:
        """The newest request."""
        return (await self.requests(1))[0]


def given_of(body: Mapping[str, Any]) -> Given:
    texts = [" ".join(text.split()) for text in texts_of(body)]
    said = [" ".join(text.split()) for message in body["messages"] for text in message_texts(message)]
    return Given("\n".join(texts[: len(texts) - len(said)]), tuple(said), body)


@asynccontextmanager
async def paraphrasing_model() -> AsyncGenerator[Scripted]:
    """A model of one's own in this event loop."""
    no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with (
        serve_paraphrasing_model() as url,
        httpx2.AsyncClient(base_url=url, timeout=TIMEOUT, trust_env=False, verify=no_certificates) as http,
    ):
        yield Scripted(url, http)
