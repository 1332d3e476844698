"""Every operation by every door that carries it, asked by everybody: by each role and by keys with one scope
alone, for what is theirs, another's, nobody's, and for ids that are none.

What may be done is the table of `gateway.auth.operations`; what is not theirs is as absent as what never was.
The requests are made of the routes (`route_samples.py`), so that a new door or operation is asked as well, or
fails for want of a sample."""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from gateway.auth import SCOPES, SCOPES_OF
from gateway.auth.operations import OPERATIONS
from gateway.http.endpoint import Endpoint
from tests.api.route_samples import KINDS, ROUTES, Case, Unsampled, cases, nobodys
from tests.harness import TIMEOUT, Client, running_gateway
from tests.product import Settings
from tests.stories.asking import Outbox, ask
from tests.stories.test_client_tools import call

pytestmark = [pytest.mark.anyio, pytest.mark.long]

SECRETS = {name: f"{name}-secret-0123456789" for name in ("ada", "bob", "host", "root")}
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
OF_EVERYBODY = frozenset(name for name, each in OPERATIONS.items() if each.needs == "admin")
"""Operations that are about everybody: an admin is told there who did what, without its content."""
IN_PERSON = frozenset({"key.create", "person.erase", "provider_key.remove", "provider_key.set"})
"""Operations that a stored key without the scope admin has not, whatever its other scopes."""
TRIES, BUSY = 100, ("queue_full", "operation_busy")
SHARED = frozenset({"member", "project"})
"""Kinds of ids that who shares a project has as well."""
MALFORMED = ("x" * 65, "no such id!", "nul\0", "../../etc", "\u202e")
INSTRUCTIONS = "Answer as a quetzalcoatlus would"
"""Of Ada's application, in a session that she shares."""


@dataclass(frozen=True)
class Caller:
    name: str
    http: httpx2.AsyncClient
    scopes: frozenset[str] = frozenset()
    tenant: str = "default"

    @property
    def is_known(self) -> bool:
        return bool(self.scopes)

    def may(self, case: Case) -> bool:
        return case.is_allowed(self.scopes, self.tenant)


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
    """Ada, whose everything is, and the others; and Ada with keys that have one scope alone."""
    async with AsyncExitStack() as stack:

        async def caller(
            name: str,
            key: str | None,
            scopes: frozenset[str] = frozenset(),
            tenant: str = "default",
            **more: str,
        ) -> Caller:
            headers = more if key is None else {"authorization": f"Bearer {key}", **more}
            http = httpx2.AsyncClient(base_url=client.url, headers=headers, timeout=TIMEOUT, trust_env=False)
            return Caller(name, await stack.enter_async_context(http), scopes, tenant)

        static = SCOPES_OF["member"] | {"metrics"}
        root = await caller("admin", SECRETS["root"], SCOPES)
        made = {
            "ada": await caller("ada", SECRETS["ada"], static),
            "admin": root,
            "other user": await caller("other user", SECRETS["bob"], static),
            "nobody": await caller("nobody", None),
            "host": await caller("host", SECRETS["host"], static),
            "wrong key": await caller("wrong key", "wrong-secret-0123456789"),
        }

        async def stored(name: str, has: frozenset[str], **body: Any) -> None:
            reply = await root.http.post("/api/keys", json={"name": "k", **body})
            assert reply.status_code == 201, reply.text
            made[name] = await caller(name, reply.json()["key"], has, body.get("tenant", "default"))

        await stored("reader", SCOPES_OF["reader"], user="rita", role="reader")
        await stored("other tenant", SCOPES_OF["member"], user="eva", tenant="team")
        await stored("admin of another tenant", SCOPES, user="lead", tenant="team", role="admin")
        for role in ("reader", "editor"):
            await stored(f"guest, {role}", SCOPES_OF["member"], user=f"guest-{role}")
        body = {"name": "bot", "user": "bot", "role": "service"}
        service = (await root.http.post("/api/keys", json=body)).json()["key"]
        made["delegate"] = await caller("delegate", service, SCOPES_OF["member"], **{"x-user-id": "somebody"})
        for scope in sorted(SCOPES):
            role = "admin" if scope == "admin" else "member"
            for user, tenant in (("ada", "default"), (f"eva-{scope}", "team")):
                name = f"{user} with {scope} alone"
                await stored(name, frozenset({scope}), user=user, tenant=tenant, role=role, scopes=[scope])
        yield made


async def belongings(client: Client, people: Mapping[str, Caller]) -> dict[str, str]:
    """One of each kind, Ada's."""
    ada = people["ada"]
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
        for verb in ("saw", "drew", "fed")
    ]
    earlier, later = [
        (await posted("/api/memory", content=f"The {CANARY} is due on {day} May.", type="fact"))["id"]
        for day in (3, 5)
    ]
    project = (await posted("/api/projects", name=CANARY))["id"]
    added = await ada.http.put(f"/api/projects/{project}/members/mia", json={"role": "editor"})
    assert added.is_success, added.text
    for role in ("reader", "editor"):
        member = f"/api/projects/{project}/members/guest-{role}"
        assert (await ada.http.put(member, json={"role": role})).is_success
        guest = people[f"guest, {role}"].http
        assert (await guest.post(f"/api/invitations/{project}/accept")).is_success
    invited: list[str] = []
    for _ in range(2):
        invited.append((await people["host"].http.post("/api/projects", json={"name": "n"})).json()["id"])
        asked_in = f"/api/projects/{invited[-1]}/members/ada"
        assert (await people["host"].http.put(asked_in, json={"role": "reader"})).is_success
    profile = await ada.http.put("/api/profiles/user/ada", json={"fields": {"likes": CANARY}})
    assert profile.status_code == 200, profile.text
    return {
        "artifact": (await posted("/api/artifacts", text=CANARY))["ref"],
        "call": asked.calls["send"],
        "client_call": called.calls["locate"],
        "earlier_memory": earlier,
        "invitation": invited[0],
        "invitation_2": invited[1],
        "later_memory": later,
        "key": (await posted("/api/keys", name="of Ada"))["id"],
        "link": (await posted("/api/links", session_id=session))["id"],
        "memory": memories[0],
        "memory_2": memories[1],
        "memory_3": memories[2],
        "member": "mia",
        "parked": asked.turn,
        "parked_session": asked.session,
        "project": project,
        "response": f"resp_{turn}",
        "saved_prompt": (await posted("/api/saved-prompts", name=CANARY, text=CANARY))["id"],
        "schedule": (await posted("/api/schedules", message=CANARY, cron="0 8 1 1 *"))["id"],
        "session": session,
        "tool": "post",
        "turn": turn,
        "user": "ada",
        "waiting": called.turn,
        "waiting_response": f"resp_{called.turn}",
        "waiting_session": called.session,
        "webhook": (await posted("/api/webhooks", url=f"https://example.org/{CANARY}"))["id"],
    }


async def answer(caller: Caller, case: Case, ids: Mapping[str, str]) -> Answer:
    """What came, with the ids that were sent made unreadable."""
    response = await caller.http.request(**case.request(ids))
    for _ in range(TRIES):
        if response.status_code != 429 or not any(each in response.text for each in BUSY):
            break
        await asyncio.sleep(0.05)  # others are asking as well
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
    """A route with a parameter, a body or an operation of which nothing is known fails here, and says what to
    add."""
    for route in ROUTES:
        assert list(cases(route))

    with pytest.raises(Unsampled, match=r"nothing is known of \{thing_id\}"):
        list(cases(Endpoint(ROUTES[0].handler, "GET", "/api/things/{thing_id}", "turn.read", {})))
    more = Endpoint(ROUTES[0].handler, "GET", "/api/things", "turn.read", {}, carries=("memory.delete",))
    with pytest.raises(Unsampled, match=r"GET /api/things carries memory\.delete"):
        list(cases(more))


def test_every_operation_is_asked_by_every_door_that_carries_it() -> None:
    """Of each route there is a request for its own operation and for each other that it may do."""
    doors = {
        (route.method, route.path, name) for route in ROUTES for name in (route.operation, *route.carries)
    }
    asked = {
        (case.route.method, case.route.path, case.operation) for route in ROUTES for case in cases(route)
    }

    assert asked == doors
    assert {name for *_, name in asked} == OPERATIONS.keys()


async def test_nothing_of_somebody_is_told_or_done_to_anybody_else(settings: Settings) -> None:
    """Whatever the operation, the door, the caller and the kind of id: what the table does not allow is
    refused; else no content and no id of Ada's is in an answer, and status, words and headers are the same
    for her ids, and for what she calls her session, as for such as nobody has. No answer says that the server
    failed. Ada gets hers, so the ids are real, with the one scope that the table asks for; her session by the
    name that others have given to theirs by then."""
    given = settings.model_copy(
        update={"api_keys": KEYS, "admins": ("root",), "memory": True, "model": "demo"}
    )
    problems: list[str] = []
    asked = 0
    async with running_gateway(given, *Outbox().tools) as client, callers(client) as people:
        ids = await belongings(client, people)
        assert ids.keys() == KINDS.keys()
        for found in await asyncio.gather(
            *(_walk(each, ids) for name, each in people.items() if name != "host")
        ):
            problems += found.problems
            asked += found.asked
        problems += await _hers(people, ids | {"session": NAMED})
    doors = sum(1 for route in ROUTES for _ in cases(route))
    print(  # noqa: T201 - what was asked is a figure of its own
        f"matrix: {len(OPERATIONS)} operations, {doors} requests by {len(ROUTES)} routes, "
        f"{len(people)} callers, {asked} answers, {len(problems)} leaks"
    )

    assert not problems, "\n".join(problems)
    assert asked > 5_000


async def _walk(caller: Caller, ids: Mapping[str, str]) -> Walk:
    walk = Walk()
    is_ada = caller.name.startswith("ada")
    # What the caller made under a name, they have in the same requests under a name that nobody has.
    ways = [(ids, nobodys()), ({**ids, "session": NAMED}, nobodys())]
    for route in ROUTES:
        for case in cases(route):
            if is_ada and caller.may(case):
                continue  # `_hers` does that, as it ends what is hers
            for theirs, unknown in ways if "session" in case.kinds else ways[:1]:
                wrong, answers = await _asked(caller, case, theirs, unknown, ids)
                walk.asked += len(answers)
                walk.problems += [f"{caller.name}: {case.name}: {each}" for each in wrong]
            if case.kinds:
                wrong = await _malformed(caller, case)
                walk.asked += len(MALFORMED)
                walk.problems += [f"{caller.name}: {case.name}: {each}" for each in wrong]
    return walk


def _refusal(caller: Caller, case: Case, status: int, *, is_own: bool) -> str | None:
    """What is wrong with that status where the table refuses the caller; "" where nothing is; None where it
    does not refuse them."""
    if case.route.does.is_open:
        return None
    if not caller.is_known:
        expected = {401, 429} if caller.name == "wrong key" else {401}
        return "" if status in expected else f"{status} instead of 401"
    if not caller.may(case):
        # What it would do besides may be asked only once it is known to be there.
        if not is_own and status in {400, 404} and case.is_begun(caller.scopes, caller.tenant):
            return ""
        return "" if status == 403 else f"{status} instead of 403"
    return None


async def _malformed(caller: Caller, case: Case) -> list[str]:
    """Ids that are none: refused as others are, and no fault of the server's."""
    wrong: list[str] = []
    for id_ in MALFORMED:
        found = await answer(caller, case, dict.fromkeys(case.kinds, id_))
        refused = _refusal(caller, case, found.status, is_own=False)
        # What is no path of a route is answered before anybody asks what it is for.
        if refused and not (found.status in {400, 404, 405} and id_ == "../../etc"):
            wrong.append(f"{id_!r}: {refused}")
        if found.status >= 500 or CANARY in found.text:
            wrong.append(f"{id_!r}: {found.status} {found.text[:300]}")
    return wrong


async def _asked(
    caller: Caller, case: Case, ids: Mapping[str, str], unknown: Mapping[str, str], hidden: Mapping[str, str]
) -> tuple[list[str], Sequence[Answer]]:
    """What is wrong with the answers to a case with ids of Ada's, compared with `unknown` ones. They tell
    nothing of those that are `hidden`."""
    theirs, is_own = await answer(caller, case, ids), caller.name.startswith("ada")
    if (refused := _refusal(caller, case, theirs.status, is_own=is_own)) is not None:
        return [*([refused] if refused else []), *["tells"] * (CANARY in theirs.text)], [theirs]
    absent = await answer(caller, case, unknown) if case.kinds else theirs
    wrong = [f"{each.status}: {each.text[:300]}" for each in (theirs, absent) if each.status >= 500]
    where = (case.route.method, case.route.path)
    is_operator = "admin" in caller.scopes and caller.tenant == "default"
    if is_operator and (case.operation in OF_EVERYBODY or where in ADMIN_MAY):
        return wrong, [theirs, absent]
    of_project = LABELS | (SHARED if caller.name.startswith("guest") else frozenset[str]())
    secrets = [CANARY, *(id_ for kind, id_ in hidden.items() if kind not in of_project)]
    if case.operation in OF_EVERYBODY:  # its own requests, which named hers
        return wrong + ["tells of Ada"] * ('"actor":"ada"' in theirs.text), [theirs, absent]
    if of_project & SHARED & case.kinds or (caller.name.startswith("guest") and "project" in case.operation):
        return wrong, [theirs, absent]  # they are in it: tests/api/test_projects.py
    wrong += [f"tells {each}" for each in secrets if each in theirs.text]
    if outcome(theirs) != outcome(absent):
        wrong.append(
            f"{theirs.status} {theirs.text[:300]}, but of nobody's {absent.status} {absent.text[:300]}"
        )
    return wrong, [theirs, absent]


async def _hers(people: Mapping[str, Caller], ids: Mapping[str, str]) -> list[str]:
    """Where Ada herself is refused what is hers, with no more scopes than the operation needs: the last to be
    asked for is what ends something."""
    ends = ("/correct", "/cancel", "/stop", "CancelTask", "/merge", "memory.delete", "/erase", "DELETE")
    mine = [case for route in ROUTES for case in cases(route) if case.kinds and case.field is None]

    def order(case: Case) -> tuple[int, bool, int]:
        name = f"{case.name} {case.body}"
        ending = max((at for at, end in enumerate(ends, 1) if end in name), default=0)
        return (
            ending,
            case.route.path.endswith("session_id}"),
            -case.name.count("/"),
        )  # a member before their project

    problems: list[str] = []
    for case in sorted(mine, key=order):
        if "admin" in case.needs or case.route.template.startswith("/auth"):
            continue
        # A turn that is over has nothing to be stopped: that door only reads it, then.
        is_over = case.operation == "turn.cancel" and "turn.read" in case.route.carries
        alone = next(iter(case.needs)) if len(case.needs) == 1 and not is_over else None
        name = "ada" if alone is None or case.operation in IN_PERSON else f"ada with {alone} alone"
        async with people[name].http.stream(**case.request(ids)) as response:
            text = ""
            if response.status_code >= 400 or case.route.path in {"/a2a", "/mcp"}:
                text = (await response.aread()).decode()
            is_refused = response.status_code in {400, 401, 403, 404, 405, 422} or response.status_code >= 500
            if is_refused or "scope" in text:
                problems.append(f"{name}: {case.name}: {response.status_code} {text[:200]!r}")
    return problems
