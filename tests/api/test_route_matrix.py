"""Every route of the table, asked by everybody for everything that is somebody else's: what is not theirs is
as absent as what never was."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from gateway.http.endpoint import OPEN, Endpoint
from gateway.settings import Settings
from tests.api.route_samples import KINDS, ROUTES, Case, Unsampled, cases, nobodys
from tests.harness import TIMEOUT, Client, running_gateway
from tests.stories.asking import Outbox, ask
from tests.stories.test_client_tools import call

pytestmark = [pytest.mark.anyio, pytest.mark.long]

SECRETS = {name: f"{name}-secret-0123456789" for name in ("ada", "bob", "root")}
KEYS = SecretStr(",".join(f"{name}:{secret}" for name, secret in SECRETS.items()))
CANARY = "quetzalcoatlus"
"""It is in whatever Ada has, and in no request of anybody else."""
NEW_IDS = re.compile(r"\b[rs]_[0-9a-f]{16,32}\b")
"""Of requests, and of sessions that nobody named."""
NAMED = "notes-of-ada"
"""What Ada calls her session. Everybody may call one of theirs so."""
DIFFERS = frozenset({"date", "ratelimit", "request-id", "server-timing", "x-request-id"})
"""Headers of answers that are others each time."""
LABELS = frozenset({"member", "project", "tool", "user"})
"""Kinds whose ids others use for things of their own; what these are called is told to nobody."""
ADMIN_MAY = {("DELETE", "/api/keys/{key_id}")}
"""What an admin does to others' things, of routes that everybody has."""
TELLS_ADMINS = frozenset({"admin"})
"""Scopes of routes that are about everybody: an admin is told there who did what, without its content."""


@dataclass(frozen=True)
class Caller:
    name: str
    http: httpx2.AsyncClient
    scopes: frozenset[str] = frozenset()

    @property
    def is_known(self) -> bool:
        return bool(self.scopes)


@dataclass(frozen=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass
class Walk:
    """One caller at all routes."""

    asked: int = 0
    problems: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def callers(client: Client) -> AsyncGenerator[dict[str, Caller]]:
    """Ada, whose everything is, and the others."""
    async with AsyncExitStack() as stack:

        async def caller(name: str, key: str | None) -> Caller:
            headers = {} if key is None else {"authorization": f"Bearer {key}"}
            http = httpx2.AsyncClient(base_url=client.url, headers=headers, timeout=TIMEOUT, trust_env=False)
            found = Caller(name, await stack.enter_async_context(http))
            if key is None or name == "wrong key":
                return found
            return replace(found, scopes=frozenset((await http.get("/api/me")).json()["scopes"]))

        root = await caller("admin", SECRETS["root"])
        made = {"ada": await caller("ada", SECRETS["ada"]), "admin": root}
        for name, body in (
            ("reader", {"user": "rita", "role": "reader"}),
            ("other tenant", {"user": "eva", "tenant": "team"}),
            ("admin of another tenant", {"user": "lead", "tenant": "team", "role": "admin"}),
        ):
            key = (await root.http.post("/api/keys", json={"name": "k"} | body)).json()["key"]
            made[name] = await caller(name, key)
        made["other user"] = await caller("other user", SECRETS["bob"])
        made["nobody"] = await caller("nobody", None)
        made["wrong key"] = await caller("wrong key", "wrong-secret-0123456789")
        yield made


async def belongings(client: Client, ada: Caller) -> dict[str, str]:
    """One of each kind, Ada's."""
    hers = Client(client.url, client.app, ada.http)

    async def posted(path: str, **body: Any) -> dict[str, Any]:
        response = await hers.post(path, body)
        assert response.status_code in {200, 201}, (path, response.text)
        return response.json()

    session = (await posted("/api/sessions", title=CANARY, id=NAMED))["id"]
    for message in (f"/say {CANARY}", f"Tell me of the {CANARY}. " * 200, "/say well"):
        turn = (await hers.chat(message, session_id=session))[0]["turn_id"]
    await posted(f"/api/sessions/{session}/compress")
    await posted("/api/session/summary", session_id=session)
    granted = await ask(hers, f'/call post {{"text": "{CANARY}"}}')
    assert (await granted.decide("approve", "post", scope="always")).status_code == 200
    asked = await ask(hers, f'/call send {{"to": "{CANARY}"}}')
    called = await (await call(hers)).parked()
    memories = [
        (await posted("/api/memory", content=f"Ada {verb} the {CANARY}.", type="fact"))["id"]
        for verb in ("saw", "drew")
    ]
    project = (await posted("/api/projects", name=CANARY))["id"]
    added = await ada.http.put(f"/api/projects/{project}/members/mia", json={"role": "editor"})
    assert added.is_success, added.text
    profile = await ada.http.put("/api/profiles/user/ada", json={"fields": {"likes": CANARY}})
    assert profile.status_code == 200, profile.text
    return {
        "artifact": (await posted("/api/artifacts", text=CANARY))["ref"],
        "call": asked.calls["send"],
        "client_call": called.calls["locate"],
        "key": (await posted("/api/keys", name="of Ada"))["id"],
        "memory": memories[0],
        "memory_2": memories[1],
        "member": "mia",
        "parked": asked.turn,
        "parked_session": asked.session,
        "project": project,
        "response": f"resp_{turn}",
        "schedule": (await posted("/api/schedules", message=CANARY, cron="0 8 1 1 *"))["id"],
        "session": session,
        "tool": "post",
        "turn": turn,
        "user": "ada",
        "waiting": called.turn,
        "waiting_session": called.session,
        "webhook": (await posted("/api/webhooks", url=f"https://example.org/{CANARY}"))["id"],
    }


async def answer(caller: Caller, case: Case, ids: Mapping[str, str]) -> Answer:
    """What came, with the ids that were sent made unreadable."""
    response = await caller.http.request(**case.request(ids))
    told = {name: value for name, value in response.headers.items() if name not in DIFFERS}
    given = sorted((ids[kind] for kind in case.kinds), key=len, reverse=True)
    told |= {"content-length": str(len(_without(response.text, given)))} if "content-length" in told else {}
    told = {name: _without(value, given) for name, value in told.items()}
    return Answer(response.status_code, _without(response.text, given), told)


def _without(text: str, given: Sequence[str]) -> str:
    for id_ in given:
        text = re.sub(rf"\b{id_}\b", "ID", text)
    return text


def outcome(found: Answer) -> object:
    """What is the same for two requests alike. What is one's own differs each time."""
    if found.status < 400:
        return found.status, frozenset(found.headers)
    return found.status, NEW_IDS.sub("", found.text), found.headers


def test_of_every_route_it_is_known_how_to_ask() -> None:
    """A route with a parameter or a body of which nothing is known fails here, and says what to add."""
    for route in ROUTES:
        assert list(cases(route))

    with pytest.raises(Unsampled, match=r"nothing is known of \{thing_id\}"):
        list(cases(Endpoint("GET", "/api/things/{thing_id}", "read", ROUTES[0].handler, {})))


async def test_nothing_of_somebody_is_told_or_done_to_anybody_else(settings: Settings) -> None:
    """Whatever the route, the caller and the kind of id: no content and no id of Ada's in an answer, the same
    status, words and headers for her ids, and for what she calls her session, as for such as nobody has, and
    none that says the server failed. Ada gets hers, so the ids are real; her session by the name that others
    have given to theirs by then."""
    given = settings.model_copy(update={"api_keys": KEYS, "admins": ("root",), "memory": True})
    problems: list[str] = []
    asked = 0
    async with running_gateway(given, *Outbox().tools) as client, callers(client) as people:
        ids = await belongings(client, people["ada"])
        assert ids.keys() == KINDS.keys()
        others = [each for name, each in people.items() if name != "ada"]
        for found in await asyncio.gather(*(_walk(caller, ids) for caller in others)):
            problems += found.problems
            asked += found.asked
        problems += await _hers(people["ada"], ids | {"session": NAMED})

    assert problems == []
    assert asked > 1_000


async def _walk(caller: Caller, ids: Mapping[str, str]) -> Walk:
    walk = Walk()
    # What the caller made under a name, they have in the same requests under a name that nobody has.
    ways = [(ids, nobodys()), ({**ids, "session": NAMED}, nobodys())]
    for route in ROUTES:
        for case in cases(route):
            for theirs, unknown in ways if "session" in case.kinds else ways[:1]:
                wrong, answers = await _asked(caller, case, theirs, unknown, ids)
                walk.asked += len(answers)
                walk.problems += [f"{caller.name}: {case.name}: {each}" for each in wrong]
    return walk


async def _asked(
    caller: Caller, case: Case, ids: Mapping[str, str], unknown: Mapping[str, str], hidden: Mapping[str, str]
) -> tuple[list[str], Sequence[Answer]]:
    """What is wrong with the answers to a case with ids of Ada's, compared with `unknown` ones. They tell
    nothing of those that are `hidden`."""
    needs = case.route.needs
    theirs = await answer(caller, case, ids)
    if needs is not OPEN and not caller.is_known:
        expected = {401, 429} if caller.name == "wrong key" else {401}
        return [f"{theirs.status} instead of 401"] * (theirs.status not in expected), [theirs]
    if needs is not OPEN and needs not in caller.scopes:
        return [f"{theirs.status} instead of 403"] * (theirs.status != 403), [theirs]
    absent = await answer(caller, case, unknown) if case.kinds else theirs
    wrong = [f"{each.status}: {each.text[:300]}" for each in (theirs, absent) if each.status >= 500]
    where = (case.route.method, case.route.path)
    if caller.name == "admin" and (needs in TELLS_ADMINS or where in ADMIN_MAY):
        return wrong, [theirs, absent]
    secrets = [CANARY, *(id_ for kind, id_ in hidden.items() if kind not in LABELS)]
    if needs in TELLS_ADMINS:  # its own requests, which named hers
        return wrong + ["tells of Ada"] * ('"actor":"ada"' in theirs.text), [theirs, absent]
    wrong += [f"tells {each}" for each in secrets if each in theirs.text]
    if outcome(theirs) != outcome(absent):
        wrong.append(
            f"{theirs.status} {theirs.text[:300]}, but of nobody's {absent.status} {absent.text[:300]}"
        )
    return wrong, [theirs, absent]


async def _hers(ada: Caller, ids: Mapping[str, str]) -> list[str]:
    """Where Ada herself is refused what is hers: the last to be asked for is what ends something."""
    ends = ("/correct", "/cancel", "/stop", "/merge", "/erase", "DELETE")
    mine = [case for route in ROUTES for case in cases(route) if case.kinds and case.field is None]

    def order(case: Case) -> tuple[int, bool, int]:
        name = case.name
        ending = max((at for at, end in enumerate(ends, 1) if end in name), default=0)
        return ending, name.endswith("session_id}"), -name.count("/")  # a member before their project

    problems: list[str] = []
    for case in sorted(mine, key=order):
        if case.route.needs == "admin" or case.route.template.startswith("/auth"):
            continue
        async with ada.http.stream(**case.request(ids)) as response:
            if response.status_code in {400, 401, 403, 404, 405, 422} or response.status_code >= 500:
                problems.append(
                    f"ada: {case.name}: {response.status_code} {(await response.aread())[:200]!r}"
                )
    return problems
