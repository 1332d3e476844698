"""Model calls beside turns are charged to the limits of whoever causes them: nothing is free by any door."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import SecretStr

from gateway.auth import Principal
from gateway.errors import LimitsUnavailable
from gateway.model.side_calls import CallContext, Purpose, request_of
from gateway.service.limits import CALLER, UserLimits
from gateway.service.side_spending import SideSpending
from gateway.storage.limits import SideUsage
from tests.harness import Client, running_gateway, settings_for
from tests.history.scripted import USAGE, Broken, Scripted, ScriptedModel
from tests.model.test_side_calls import BEGUN, HangingModel
from tests.postgres import database_in
from tests.product import (
    LimitReached,
    ModelCalls,
    ModelError,
    Storage,
    StorageError,
    load_settings,
    open_storage,
)

pytestmark = pytest.mark.anyio

SIDE: Sequence[Purpose] = [each for each in get_args(Purpose) if each != "answer"]
PRICED = "claude-haiku-4-5"
ANSWER = 100
"""Tokens that a call may write."""
COST = USAGE.total - USAGE.output_tokens + 5 * USAGE.output_tokens
"""Microdollars of the call that the scripted model reports, by the list price of PRICED."""


@dataclass(frozen=True)
class Spender:
    calls: ModelCalls
    limits: UserLimits
    storage: Storage
    model: ScriptedModel

    async def ask(self, purpose: Purpose = "summary", *, owner: str | None = "ada", **more: Any) -> None:
        request = request_of(PRICED, "Find.", "Text.", max_tokens=ANSWER)
        await self.calls.ask(purpose, request, timeout=60, context=CallContext(owner), **more)

    async def used(self, owner: str = "ada") -> list[int]:
        return [each.used for each in await self.limits.standings(Principal(owner))]


@asynccontextmanager
async def spender(folder: Path, limits: str, *script: Scripted, **settings: Any) -> AsyncGenerator[Spender]:
    given = load_settings(
        data_dir=folder, limits=tuple(filter(None, limits.split(","))), model=PRICED, **settings
    )
    model = ScriptedModel(*(script or ("Yes.",)))
    async with open_storage(given) as storage:
        user_limits = UserLimits(given, storage.limits)
        closed = given.limits_when_down == "closed"
        spending = SideSpending(user_limits, storage.limits, is_closed_when_down=closed)
        yield Spender(ModelCalls(model, given, spending=spending), user_limits, storage, model)


@pytest.mark.parametrize("purpose", SIDE)
@pytest.mark.parametrize("limit", ["user:tokens=10/day", "tenant:tokens=10/day", "all:cost=0.0001/month"])
async def test_no_model_is_asked_for_anything_once_a_limit_is_spent(
    tmp_path: Path, purpose: Purpose, limit: str
) -> None:
    """Whatever for, and whoever's the limit is; another user's limit has room."""
    async with spender(tmp_path, limit) as opened:
        with pytest.raises(LimitReached, match="this request may take") as refused:
            await opened.ask(purpose)
        assert refused.value.code == "budget_exhausted"
        assert opened.model.requests == []
        assert await opened.used() == [0]


@pytest.mark.parametrize("purpose", SIDE)
async def test_what_a_call_used_is_charged_and_told(tmp_path: Path, purpose: Purpose) -> None:
    """In tokens and cost, to the user and to all, as long as there is room; by its purpose."""
    limits = "user:tokens=1k/day,all:cost=1/month"
    async with spender(tmp_path, limits) as opened:
        while (await opened.used())[0] + USAGE.total + ANSWER < 900:
            await opened.ask(purpose)
        count = len(opened.model.requests)

        assert await opened.used() == [count * USAGE.total, count * COST]
        assert await opened.storage.limits.side_usage("ada", 0) == [
            SideUsage(
                purpose,
                PRICED,
                count,
                count * (USAGE.total - USAGE.output_tokens),
                count * USAGE.output_tokens,
                count * COST,
                0,
            )
        ]
        assert await opened.storage.limits.side_usage("bob", 0) == []
        assert await opened.used("bob") == [0, count * COST]


@pytest.mark.parametrize("url", ["sqlite", "postgres"])
async def test_many_at_once_take_no_more_than_there_is(tmp_path: Path, url: str) -> None:
    """What each may use is taken before it is asked."""
    database = {"database_url": database_in(tmp_path), "blobs_shared": True} if url == "postgres" else {}
    async with spender(tmp_path, "user:tokens=500/day", **database) as opened:
        outcomes = await asyncio.gather(*(opened.ask() for _ in range(20)), return_exceptions=True)

        assert {type(each) for each in outcomes} <= {type(None), LimitReached}
        assert len(opened.model.requests) < 20
        assert await opened.used() == [len(opened.model.requests) * USAGE.total]


async def test_a_call_that_was_never_answered_costs_nothing(tmp_path: Path) -> None:
    """The endpoint refused it."""
    refusal = ModelError("no", code="upstream_error", retryable=False)
    async with spender(tmp_path, "user:tokens=10k/day", refusal) as opened:
        with pytest.raises(ModelError):
            await opened.ask()
        assert await opened.used() == [0]
        assert await opened.storage.limits.side_usage("ada", 0) == []


async def test_what_was_not_told_of_an_answer_counts_as_its_longest(tmp_path: Path) -> None:
    """It broke off: what it had reported, and as many tokens as it may write."""
    cut = Broken(USAGE, ModelError("cut", code="upstream_truncated", retryable=False))
    async with spender(tmp_path, "user:tokens=10k/day", cut) as opened:
        with pytest.raises(ModelError):
            await opened.ask()
        assert await opened.used() == [USAGE.total + ANSWER]
        [told] = await opened.storage.limits.side_usage("ada", 0)
        assert (told.calls, told.unpriced) == (1, 1)


async def test_a_caller_that_is_cancelled_is_charged(tmp_path: Path) -> None:
    """For what had been told of the answer, and the longest one: nobody knows how it would have ended."""
    async with spender(tmp_path, "user:tokens=10k/day") as opened:
        hanging = HangingModel()
        opened.calls._model = hanging  # pyright: ignore[reportPrivateUsage] - with the same spending
        task = asyncio.create_task(opened.ask())
        await hanging.began.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert await opened.used() == [BEGUN.total + ANSWER]


async def test_the_key_of_the_caller_is_charged_too(tmp_path: Path) -> None:
    """Where the request that causes the call came with one, and is the same user's."""
    async with spender(tmp_path, "key:tokens=10/day") as opened:
        await opened.ask()
        CALLER.set(Principal("bob", key_id="k"))
        await opened.ask()
        CALLER.set(Principal("ada", key_id="k"))
        with pytest.raises(LimitReached):
            await opened.ask()
        CALLER.set(None)


async def test_calls_of_the_gateway_itself_count_for_limits_of_all(tmp_path: Path) -> None:
    async with spender(tmp_path, "user:tokens=1/day,all:tokens=10k/day") as opened:
        await opened.ask(owner=None)
        assert await opened.used() == [0, USAGE.total]


async def test_a_price_that_is_unknown_is_never_0(tmp_path: Path) -> None:
    async with spender(tmp_path, "user:cost=1/day") as opened:
        request = request_of("nobody-knows", "Find.", "Text.", max_tokens=ANSWER)
        with pytest.raises(LimitReached) as refused:
            await opened.calls.ask("title", request, timeout=60, context=CallContext("ada"))
        assert refused.value.code == "price_unknown"
        assert opened.model.requests == []


@pytest.mark.parametrize("when_down", ["open", "closed"])
async def test_where_limits_cannot_be_read_the_setting_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when_down: str
) -> None:
    async with spender(tmp_path, "user:tokens=10k/day", limits_when_down=when_down) as opened:

        async def fails(*_: Any) -> None:
            raise StorageError("The database failed.")

        monkeypatch.setattr(opened.storage.limits, "take_for_call", fails)
        if when_down == "open":
            await opened.ask()
        else:
            with pytest.raises(LimitsUnavailable):
                await opened.ask()
        assert len(opened.model.requests) == (when_down == "open")


SECRETS = {name: f"{name}-secret-0123456789" for name in ("ada", "bob")}
SAID = [{"role": "user", "content": "I always drink green tea in the morning."}]
DOORS: Sequence[tuple[str, str, Any]] = [
    ("summary", "/api/session/summary", {"messages": SAID}),
    ("memory", "/api/memory/write", {"messages": SAID}),
    ("compression", "/api/sessions/{session}/compress", {}),
]


@pytest.fixture(scope="module")
async def team(tmp_path_factory: pytest.TempPathFactory, demo_url: str) -> AsyncGenerator[Client]:
    """Ada has nothing left to spend, Bob has no limit."""
    settings = settings_for(
        tmp_path_factory.mktemp("data"),
        demo_url,
        api_keys=SecretStr(",".join(f"{name}:{secret}" for name, secret in SECRETS.items())),
        limits=("user=ada:tokens=1/day",),
    )
    async with running_gateway(settings) as client:
        yield client


def as_(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {SECRETS[name]}"}


@pytest.mark.parametrize(("purpose", "path", "body"), DOORS)
async def test_who_has_spent_their_limit_is_refused_at_every_door(
    team: Client, purpose: str, path: str, body: Any
) -> None:
    """With 429, as a turn is; who has room is charged, and told by purpose."""
    said = [
        {"role": role, "content": f"{role} {number} says this."}
        for number in range(30)
        for role in ("user", "assistant")
    ]
    answers: dict[str, Any] = {}
    for name in SECRETS:
        session = (await team.post("/api/sessions", {"messages": said}, **as_(name))).json()["id"]
        answers[name] = await team.post(path.format(session=session), body, **as_(name))

    assert answers["ada"].status_code == 429, answers["ada"].text
    assert answers["ada"].json()["error"]["code"] == "budget_exhausted"
    assert answers["ada"].headers["retry-after"]
    assert answers["bob"].status_code in {200, 201}, answers["bob"].text
    told = {name: (await team.get("/api/usage", **as_(name))).json() for name in SECRETS}
    assert told["ada"]["beside"] == []
    assert purpose in {each["purpose"] for each in told["bob"]["beside"]}
    assert all(each["calls"] > 0 and each["output_tokens"] > 0 for each in told["bob"]["beside"])
    assert told["ada"]["limits"][0]["used"] == 0
    assert (await team.post("/api/chat", {"message": "hi"}, **as_("ada"))).status_code == 429
