"""Keys of an identity provider over real sockets, and tokens signed by them, good and bad."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.loopback import served

AUDIENCE = "gateway"


class Issuer:
    """What it has asked of it in `asked`; `away` and `held` make it fail, and wait."""

    def __init__(self) -> None:
        self.url = ""
        self.keys: list[RSAKey | ECKey] = [RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})]
        self.asked: list[str] = []
        self.away = False
        self.held: asyncio.Event | None = None

    def token(self, key: Any = None, alg: str = "RS256", kid: str | None = None, **claims: Any) -> str:
        """A token of Ada's for five minutes, but for what is given; None leaves a claim out."""
        key = key or self.keys[-1]
        whole = {"iss": self.url, "aud": AUDIENCE, "sub": "ada", "exp": int(time.time()) + 300} | claims
        header = {"alg": alg, "kid": kid or key.kid or "none"}
        given = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(header, given, key, algorithms=[alg])

    async def discovery(self, request: Request) -> Response:
        return await self._answer(request, {"issuer": self.url, "jwks_uri": f"{self.url}/keys"})

    async def jwks(self, request: Request) -> Response:
        return await self._answer(request, KeySet(list(self.keys)).as_dict(private=False))

    async def _answer(self, request: Request, answer: Any) -> Response:
        self.asked.append(request.url.path)
        if self.held is not None:
            await self.held.wait()
        return Response(status_code=503) if self.away else JSONResponse(answer)


@asynccontextmanager
async def issuing() -> AsyncGenerator[Issuer]:
    """An issuer that is asked for its keys."""
    issuer = Issuer()
    routes = [
        Route("/.well-known/openid-configuration", issuer.discovery),
        Route("/keys", issuer.jwks),
    ]
    async with served(Starlette(routes=routes), lifespan=False) as issuer.url:
        yield issuer
