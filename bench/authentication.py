"""`python -m bench.authentication`: microseconds of CPU to find out who asks, for each kind of credentials.

The first time a credential comes it is verified, or looked up; then it is known for a while."""

import asyncio
import math
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench.figures import Figure, show
from gateway.auth.authentication import Authentication
from gateway.auth.signed_in import COOKIE, SignedIn
from gateway.auth.stored_keys import StoredKeys, new_secret
from gateway.ids import new_key_id
from gateway.settings import Settings, load_settings
from gateway.storage.api_keys import ApiKey
from gateway.wiring import Storage, open_storage
from gateway.wiring.authentication import open_authentication
from tests.loopback import served

ROUNDS = 7
TIMES = 2000
AIM_OF_A_KEY, AIM = 60.0, 150.0
"""Microseconds of what is known."""
KEY = secrets.token_urlsafe(32)
KEYS = {
    "RS256": RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"}),
    "ES256": ECKey.generate_key("P-256", {"kid": "ec", "use": "sig"}),
}


async def main() -> int:
    """Prints a line for each kind; how many missed their aim."""
    missed = 0
    async with _issuer() as issuer:
        with tempfile.TemporaryDirectory() as folder:
            settings = load_settings(
                data_dir=Path(folder),
                api_keys=SecretStr(f"ada:{KEY}"),
                oidc_issuer=issuer,
                oidc_audience=("gateway",),
            )
            authentication, provider = open_authentication(settings)
            assert provider is not None
            async with open_storage(settings) as storage:
                for name, headers in (await _known(storage, settings, authentication, issuer)).items():
                    await authentication.identify(headers)
                    aim = AIM_OF_A_KEY if "key" in name else AIM
                    cost = await _cost(authentication, [headers] * TIMES)
                    missed += show([Figure(name, cost, "us", aim)])
                for name in KEYS:
                    new = [_bearer(_token(issuer, name, f"u{number}")) for number in range(TIMES // 4)]
                    cost = await _cost(authentication, new, rounds=1)
                    show([Figure(f"new token, {name}", cost, "us", math.inf)])
            await provider.close()
    return missed


async def _known(
    storage: Storage, settings: Settings, authentication: Authentication, issuer: str
) -> Mapping[str, Headers]:
    key_id = new_key_id()
    key, digest = new_secret(key_id)
    row = ApiKey(key_id, "default", "ada", "bench", ("member",), ("chat", "read"), digest, 0, "ada")
    await storage.keys.add(row, most=10)
    signed_in = SignedIn(storage.sign_ins, settings)
    who = await authentication.identify(_bearer(KEY))
    cookie = await signed_in.begin(who)
    authentication.add(signed_in)
    authentication.add(StoredKeys(storage.keys))
    return {
        "key of the settings": _bearer(KEY),
        "stored key": _bearer(key),
        "known token, RS256": _bearer(_token(issuer, "RS256", "ada")),
        "cookie of a sign-in": Headers({"cookie": f"{COOKIE}={cookie}"}),
    }


async def _cost(authentication: Authentication, requests: list[Headers], *, rounds: int = ROUNDS) -> float:
    """Microseconds of CPU for one of the requests: the median of the rounds."""
    costs: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        for headers in requests:
            await authentication.identify(headers)
        costs.append((time.process_time() - began) / len(requests) * 1e6)
    return median(costs)


def _bearer(credential: str) -> Headers:
    return Headers({"host": "127.0.0.1:8000", "authorization": f"Bearer {credential}"})


def _token(issuer: str, algorithm: str, user: str) -> str:
    key = KEYS[algorithm]
    claims = {"iss": issuer, "aud": "gateway", "sub": user, "exp": int(time.time()) + 600}
    return jwt.encode({"alg": algorithm, "kid": key.kid}, claims, key, algorithms=[algorithm])


@asynccontextmanager
async def _issuer() -> AsyncGenerator[str]:
    async def discovery(request: Request) -> Response:
        url = str(request.base_url).rstrip("/")
        return JSONResponse({"issuer": url, "jwks_uri": f"{url}/keys"})

    async def keys(_: Request) -> Response:
        return JSONResponse(KeySet(list(KEYS.values())).as_dict(private=False))

    routes = [Route("/.well-known/openid-configuration", discovery), Route("/keys", keys)]
    async with served(Starlette(routes=routes), lifespan=False) as url:
        yield url


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main()) else 0)
