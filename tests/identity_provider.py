"""Identity providers over real sockets: keys with tokens signed by them, good and bad; and one at which
people sign in."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qsl

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.loopback import TIMEOUT, free_port, served

AUDIENCE = "gateway"


class Issuer:
    """What it has asked of it in `asked`; `away` and `held` make it fail, and wait."""

    def __init__(self) -> None:
        self.url = self.id_token = ""
        self.form: dict[str, str] = {}
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
        addresses = {
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
        }
        return await self._answer(request, {"issuer": self.url} | addresses)

    async def exchange(self, request: Request) -> Response:
        """Whatever the code is, the token that the test has put there."""
        self.form = dict(parse_qsl((await request.body()).decode()))
        return await self._answer(request, {"id_token": self.id_token})

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
        Route("/token", issuer.exchange, methods=["POST"]),
    ]
    async with served(Starlette(routes=routes), lifespan=False) as issuer.url:
        yield issuer


@contextmanager
def provider_process(**users: dict[str, Any]) -> Generator[str]:
    """oidc-provider-mock, in a process of its own, at this address: users by their names, with claims.
    Anybody else may sign in there too, and has no claims."""
    port = free_port()
    claims = [
        part for sub, more in users.items() for part in ("--user-claims", json.dumps({"sub": sub} | more))
    ]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), *claims]
    environment = os.environ | {"AUTHLIB_INSECURE_TRANSPORT": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(TIMEOUT)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("The identity provider does not start.")
