"""The watchdog of the event loop sees what it is there for."""

from pathlib import Path
from time import thread_time

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.harness import client_at
from tests.loop_watchdog import LIMIT, holds, watched
from tests.loopback import served

pytestmark = pytest.mark.anyio


async def _busy(request: Request) -> Response:
    until = thread_time() + float(request.path_params["seconds"])
    while thread_time() < until:
        pass
    return PlainTextResponse("done")


async def test_a_request_that_computes_for_too_long_is_found() -> None:
    """It would fail the test, had this one not taken it away."""
    app = watched(Starlette(routes=[Route("/{seconds}", _busy)]))
    async with served(app, lifespan=False) as url, client_at(url) as client:
        assert (await client.get("/0.001")).text == "done"
        assert holds == []
        assert (await client.get("/0.1")).text == "done"

    (found,) = holds
    holds.clear()
    assert found.what == "GET /0.1"
    assert found.seconds >= 0.1 > LIMIT


async def test_what_the_test_itself_computes_is_not_the_gateways(tmp_path: Path) -> None:
    """Its own code runs in the same event loop."""
    until = thread_time() + 2 * LIMIT
    while thread_time() < until:
        pass
    assert holds == []
