"""Posts to webhooks: to the public web and to what an operator listed, whatever a name leads to."""

from collections.abc import Sequence

import httpx2
import pytest

from gateway.tools.fetch.addresses import ListedHosts
from gateway.tools.fetch.webhook_posts import Answered, WebhookPosts
from tests.product import InvalidRequest, ToolError

pytestmark = pytest.mark.anyio

PUBLIC = "93.184.215.14"


class Dialled(httpx2.AsyncBaseTransport):
    """Answers 200 at whatever address is asked for, and notes which."""

    def __init__(self) -> None:
        self.requests: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return httpx2.Response(200, headers={"retry-after": "7"})


def posts(dialled: Dialled, *listed: str, leads_to: Sequence[str] = (PUBLIC,)) -> WebhookPosts:
    """Posts where every name leads to these addresses."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return leads_to

    return WebhookPosts(listed, 5, resolve, dialled)


async def test_a_post_goes_to_the_address_that_was_checked() -> None:
    """Under its name, with the body and the headers as they were signed."""
    dialled = Dialled()

    answered = await posts(dialled).post("https://Hooks.Example.com/a?b=1", {"webhook-id": "msg_1"}, b"{}")

    assert answered == Answered(200, 7.0)
    (request,) = dialled.requests
    assert (request.method, str(request.url)) == ("POST", f"https://{PUBLIC}/a?b=1")
    assert (request.headers["host"], request.headers["webhook-id"]) == ("hooks.example.com", "msg_1")
    assert request.extensions["sni_hostname"] == "hooks.example.com"


@pytest.mark.parametrize("inside", ["10.0.0.5", "127.0.0.1", "::1", "169.254.169.254", "fd00::1"])
async def test_a_name_that_leads_inside_is_not_posted_to(inside: str) -> None:
    """Also where it leads to a public address as well, and where it led elsewhere when it was added."""
    for leads_to in ([inside], [PUBLIC, inside]):
        dialled = Dialled()
        with pytest.raises(ToolError, match="not to a public address") as refused:
            await posts(dialled, leads_to=leads_to).post("https://hooks.example.com/", {}, b"{}")
        assert inside not in str(refused.value)
        assert dialled.requests == []


@pytest.mark.parametrize(
    ("listed", "url", "leads_to"),
    [
        ("10.1.0.0/16", "http://10.1.2.3:9000/", ()),
        ("10.1.2.3", "http://10.1.2.3:9000/", ()),
        ("fd00::/8", "http://[fd00::1]:9000/", ()),
        ("receiver", "http://receiver:9000/", ["172.18.0.4"]),
        ("Hooks.Internal", "http://hooks.internal/", ["10.0.0.5"]),
        ("10.0.0.0/8", "https://hooks.example.com/", ["10.0.0.5"]),
    ],
)
async def test_what_an_operator_listed_is_posted_to(listed: str, url: str, leads_to: list[str]) -> None:
    """A name wherever it leads, an address or a range; on any port and without TLS where it is listed
    itself."""
    dialled = Dialled()
    assert (await posts(dialled, listed, leads_to=leads_to).post(url, {}, b"{}")).is_success
    assert len(dialled.requests) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://10.2.0.1/",
        "https://10.2.0.1/",
        "https://other.internal/",
        "http://hooks.example.com/",
        "https://hooks.example.com:9000/",
        "https://user@10.1.2.3/",
        "http://10.1.2.3:99999/",
        "http://receiver.example.com:9000/",
        "http://10.1.2.3\\@hooks.example.com/",
    ],
)
async def test_what_is_listed_lets_nothing_else_in(url: str) -> None:
    with pytest.raises(InvalidRequest):
        posts(Dialled(), "10.1.0.0/16", "receiver").check(url)


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "10.0.0.5/8", "a b", "https://hooks.example.com", ""])
def test_what_is_no_host_is_not_listed(entry: str) -> None:
    with pytest.raises(ValueError, match="no name, address or range"):
        ListedHosts.of([entry])
