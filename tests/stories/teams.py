"""Two teams of two people each and an operator, as they sit in front of their browsers, and the provider at
which they sign in."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic import SecretStr

from tests.harness import TIMEOUT, Client, events
from tests.product import Settings

OWN = {"sec-fetch-site": "same-origin"}
"""What a browser sends with what the page asks for."""
PEOPLE = {
    "ada": {"org": "red", "groups": ["staff"]},
    "ben": {"org": "red", "groups": ["staff"]},
    "cleo": {"org": "blue", "groups": ["staff"]},
    "dan": {"org": "blue", "groups": ["staff"]},
    "olga": {"org": "default", "groups": ["staff", "operators"]},
    "guest": {"org": "red", "groups": ["guests"]},
}


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody in front of a browser of their own."""

    name: str
    browser: Client

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        return await self.browser.post(path, body, **(OWN | headers))

    async def delete(self, path: str) -> httpx2.Response:
        return await self.browser.http.delete(path, headers=OWN)

    async def get(self, path: str) -> httpx2.Response:
        return await self.browser.get(path)

    async def chat(self, message: str, **more: Any) -> list[dict[str, Any]]:
        return events(await self.browser.all_frames("/api/chat", {"message": message, **more}, OWN))


@asynccontextmanager
async def browsers(client: Client) -> AsyncGenerator[dict[str, Person]]:
    """One for each person; nobody is signed in yet."""
    async with AsyncExitStack() as stack:
        found: dict[str, Person] = {}
        for name in PEOPLE:
            http = httpx2.AsyncClient(base_url=client.url, timeout=TIMEOUT, trust_env=False)
            found[name] = Person(name, Client(client.url, client.app, await stack.enter_async_context(http)))
        yield found


async def sign_in(person: Person) -> httpx2.Response:
    """From the page to the provider, where they say who they are, and back."""
    begun = await person.get("/auth/sign-in?to=/")
    assert begun.status_code == 303, begun.text
    async with httpx2.AsyncClient(trust_env=False) as there:
        answer = await there.post(begun.headers["location"], data={"sub": person.name})
    back = urlsplit(answer.headers["location"])
    return await person.get(f"{back.path}?{back.query}")


def given(settings: Settings, provider: str) -> Settings:
    return settings.model_copy(
        update={
            "oidc_issuer": provider,
            "oidc_client_id": "page",
            "oidc_client_secret": SecretStr("known to both"),
            "oidc_tenant_claim": "org",
            "default_tenant_by_claim": True,  # the operator alone names them
            "oidc_roles_claim": "groups",
            "oidc_roles": ("staff=member", "operators=admin"),
        }
    )


async def told(admin: Person, **query: Any) -> list[tuple[Any, ...]]:
    """The audit, the oldest first: who, what, to what, with which result."""
    await admin.browser.app.state.audit.flush()
    answer = await admin.browser.http.get("/api/audit", params={"limit": 500, **query})
    assert answer.status_code == 200, answer.text
    return [
        (each.get("actor"), each["action"], each.get("subject_id"), each["result"])
        for each in reversed(answer.json()["entries"])
    ]


async def audit_of(olga: Person) -> tuple[list[tuple[Any, ...]], ...]:
    """The entries of each tenant: an admin of one makes a key for themselves, by the operator."""
    found: list[list[tuple[Any, ...]]] = []
    for tenant in ("red", "blue"):
        key = await olga.post(
            "/api/keys", {"name": "auditor", "user": "auditor", "tenant": tenant, "role": "admin"}
        )
        async with httpx2.AsyncClient(
            base_url=olga.browser.url,
            headers={"authorization": f"Bearer {key.json()['key']}"},
            timeout=TIMEOUT,
            trust_env=False,
        ) as http:
            auditor = Person("auditor", Client(olga.browser.url, olga.browser.app, http))
            found.append([each for each in await told(auditor) if each[0] != f"{tenant}/auditor"])
    return found[0], found[1], await told(olga)
