"""Endpoints as they are declared on their handlers, and the order in which they are tried."""

import pytest
from starlette.responses import Response
from starlette.routing import Match

from gateway.http.endpoint import endpoint, endpoints_of
from gateway.http.requests import ApiRequest
from tests.api.route_samples import ROUTES


def test_every_endpoint_is_reached_by_its_own_path() -> None:
    """Also where its path has a fixed part in the place of another's parameter: none before it takes its
    requests."""
    routes = [(each, each.route()) for each in ROUTES]

    for wanted in ROUTES:
        scope = {"type": "http", "method": wanted.method, "path": wanted.template}
        found = next(each for each, route in routes if route.matches(scope)[0] is Match.FULL)
        assert found is wanted, f"{found.method} {found.path} takes the requests of {wanted.path}"


def test_a_handler_may_have_several_endpoints() -> None:
    """It stays the function that it is; the module has both rows, from the lower one to the upper one."""

    @endpoint("GET", "/later", "health.read", {200: ("text/plain",)})
    @endpoint("GET", "/earlier", "health.read", {200: ("text/plain",)}, refusals=(503,))
    async def answer(_request: ApiRequest) -> Response:
        return Response("here")

    earlier, later = endpoints_of(__name__)

    assert (earlier.path, later.path) == ("/earlier", "/later")
    assert earlier.handler is later.handler is answer
    assert (earlier.refusals, later.refusals) == ((503,), ())


def test_an_endpoint_of_an_unknown_operation_is_refused_where_it_is_declared() -> None:
    """So that none can be asked for by anybody for want of a rule."""
    with pytest.raises(ValueError, match=r"GET /nowhere does 'none\.such'"):

        @endpoint("GET", "/nowhere", "none.such", {200: (None,)})
        async def answer(_request: ApiRequest) -> Response: ...


def test_a_module_that_declares_none_is_named() -> None:
    """A list of modules with a slip in it does not lose endpoints silently."""
    with pytest.raises(KeyError, match="no_such_routes"):
        endpoints_of("gateway.api.no_such_routes")
