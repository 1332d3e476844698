"""No address, name, redirect or answer of a resolver leads a fetch anywhere but to the public web."""

import ssl
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.fetch.addresses import checked, host_of, is_public, literal
from gateway.tools.fetch.fetcher import Fetcher
from gateway.tools.fetch.names import SystemNames
from tests.product import ToolError
from tests.tools.forms import LEADS_INSIDE, REDIRECTS, REFUSED
from tests.tools.web import PUBLIC, answer, certificate, moved, serving

pytestmark = pytest.mark.anyio


def test_the_table_is_as_long_as_it_has_to_be() -> None:
    """More than a hundred forms, none of them twice."""
    assert len(set(REFUSED)) == len(REFUSED) > 100


@pytest.mark.parametrize("url", REFUSED)
async def test_a_form_that_is_not_public_is_refused_before_anything_is_asked(url: str) -> None:
    """Not a name is looked up, no connection is opened."""
    async with serving() as web:
        with pytest.raises(ToolError, match=r"no public web page|not an address that can be fetched"):
            await web.fetcher.get(url)

    assert (web.asked, web.dialled, web.accepted) == ([], [], 0)


@pytest.mark.parametrize("addresses", LEADS_INSIDE, ids=" ".join)
async def test_a_name_that_leads_inside_is_refused(addresses: Sequence[str]) -> None:
    """One address that is not public is enough, wherever it stands."""
    async with serving() as web:
        web.names["news.example"] = [addresses]
        with pytest.raises(ToolError, match=r"no public web page at news\.example"):
            await web.fetcher.get("https://news.example/")

    assert (web.asked, web.dialled, web.accepted) == (["news.example"], [], 0)


async def test_nobody_learns_which_names_there_are_inside() -> None:
    """A name that does not exist and one that leads inside are refused in the same words."""
    asked: list[str] = []
    worlds: list[dict[str, list[Sequence[str]]]] = [
        {},
        {"news.example": [["10.0.0.1"]]},
        {"news.example": [[]]},
    ]
    async with serving() as web:
        for web.names in worlds:
            with pytest.raises(ToolError) as refused:
                await web.fetcher.get("http://news.example/")
            asked.append(refused.value.message)

    assert len(set(asked)) == 1
    assert "10.0.0.1" not in asked[0]


@pytest.mark.parametrize("to", [*REDIRECTS, "http://inside.example/", "//inside.example", "//127.0.0.1/"])
async def test_a_redirect_is_checked_like_an_address(to: str) -> None:
    """The first server is asked, and nobody else."""
    async with serving() as web:
        web.names["inside.example"] = [["127.0.0.1"]]
        web.pages["/"] = moved(to)
        with pytest.raises(
            ToolError, match=r"no public web page|not an address that can be fetched|no address"
        ):
            await web.fetcher.get("http://news.example/")

    assert (web.dialled, web.accepted) == ([PUBLIC], 1)


async def test_a_name_is_looked_up_once_and_its_address_is_the_one_that_is_asked() -> None:
    """A resolver that changes its mind after the check changes nothing."""
    async with serving() as web:
        web.names["news.example"] = [[PUBLIC], ["127.0.0.1"]]
        web.pages["/"] = answer(b"hello")

        page = await web.fetcher.get("http://news.example/")

    assert page.body == b"hello"
    assert (web.asked, web.dialled) == (["news.example"], [PUBLIC])
    assert "Host: news.example\r\n" in web.requests[0]


async def test_a_name_that_leads_inside_at_its_second_look_is_refused_there() -> None:
    """The redirect to the same site is looked up anew, and checked anew."""
    async with serving() as web:
        web.names["news.example"] = [[PUBLIC], ["127.0.0.1"]]
        web.pages["/"] = moved("/next")
        with pytest.raises(ToolError, match=r"no public web page at news\.example"):
            await web.fetcher.get("http://news.example/")

    assert (web.asked, web.dialled) == (["news.example"] * 2, [PUBLIC])


async def test_the_check_stands_before_the_real_way_out_as_well() -> None:
    """Without a transport of its own a fetcher refuses what leads inside, too."""

    async def inside(host: str, port: int) -> Sequence[str]:
        return await SystemNames()("localhost", port)

    with pytest.raises(ToolError, match="no public web page"):
        await Fetcher(inside).get("http://news.example/")


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would look the name up again, where nobody checks."""
    async with serving() as web, serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        web.pages["/"] = answer(b"hello")

        page = await web.fetcher.get("http://news.example/")

    assert page.body == b"hello"
    assert proxy.accepted == 0


async def test_a_certificate_is_checked_against_the_name(tmp_path: Path) -> None:
    """The connection goes to an address, but it is the name that is asked for and must be certified: a
    connection made for one name does not serve another at the same address."""
    server, trusted = certificate(tmp_path, "news.example")
    names: list[str | None] = []
    server.sni_callback = lambda _socket, name, _context: names.append(name)
    async with serving(server, trusted) as web:
        web.pages["/kept"] = answer(b"hello")
        web.names["other.example"] = [[PUBLIC]]

        page = await web.fetcher.get("https://news.example/kept")
        with pytest.raises(ToolError, match=r"certificate is not valid for its name"):
            await web.fetcher.get("https://other.example/kept")

    assert page.body == b"hello"
    assert names == ["news.example", "other.example"]
    assert len(web.requests) == 1


async def test_a_certificate_that_nobody_trusts_is_refused(tmp_path: Path) -> None:
    """The system decides who is trusted."""
    server, _ = certificate(tmp_path, "news.example")
    async with serving(server, ssl.create_default_context()) as web:
        with pytest.raises(ToolError, match="certificate is not valid for its name"):
            await web.fetcher.get("https://news.example/")

    assert web.requests == []


PRIVATE = st.sampled_from(["10.0.0.0", "127.0.0.0", "169.254.0.0", "192.168.0.0"]).flatmap(
    lambda base: st.integers(0, 0xFFFF).map(lambda rest: int(IPv4Address(base)) + rest)
)
PREFIX = st.integers(0x2000, 0x3FFF).map(lambda first: first << 112)
CARRIERS: list[Callable[[int, int], int]] = [
    lambda v4, prefix: v4,
    lambda v4, prefix: 0xFFFF << 32 | v4,
    lambda v4, prefix: 0xFFFF << 48 | v4,
    lambda v4, prefix: 0x0064_FF9B << 96 | v4,
    lambda v4, prefix: 0x0064_FF9B_0001 << 80 | v4,
    lambda v4, prefix: 0x2002 << 112 | v4 << 80,
    lambda v4, prefix: 0x2001 << 112 | v4 << 64,
    lambda v4, prefix: 0x2001 << 112 | v4 ^ 0xFFFF_FFFF,
    lambda v4, prefix: prefix | 0x0000_5EFE << 32 | v4,
    lambda v4, prefix: prefix | 0x0200_5EFE << 32 | v4,
]


@given(PRIVATE, PREFIX, st.sampled_from(CARRIERS))
def test_no_ipv6_address_carries_a_private_one_past_the_check(
    v4: int, prefix: int, carried: Callable[[int, int], int]
) -> None:
    """Mapped, compatible, translated, NAT64, 6to4, Teredo and ISATAP."""
    assert not is_public(IPv4Address(v4))
    assert not is_public(IPv6Address(carried(v4, prefix)))


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "1.1.1.1", "223.5.5.5", "114.114.114.114"])
def test_public_addresses_are_public(address: str) -> None:
    """Also as seen through NAT64 from a network without IPv4."""
    v4 = IPv4Address(address)

    assert is_public(v4)
    assert is_public(IPv6Address(0x0064_FF9B << 96 | int(v4)))


@pytest.mark.parametrize("address", ["2606:4700:4700::1111", "2400:3200::1", "2001:4860:4860::8888"])
def test_public_ipv6_addresses_are_public(address: str) -> None:
    """Those that are given out to somebody."""
    assert is_public(IPv6Address(address))


@given(
    st.text(max_size=40), st.sampled_from(["", "http://", "https://", "http://[", "http://1", "http://a.b"])
)
def test_any_text_is_refused_or_is_a_public_host(rest: str, start: str) -> None:
    """Whatever it is: a public address, or a name with a dot, or a ToolError."""
    try:
        url = checked(start + rest)
    except ToolError:
        return
    address = literal(host_of(url))

    assert url.scheme in {"http", "https"}
    assert url.port in {None, 80, 443}
    assert not url.userinfo
    assert is_public(address) if address else "." in host_of(url)


@given(
    st.sampled_from(["https://例子.example/路径?问=答", "http://News.Example.:80/x#y", "http://8.8.8.8:443/"])
)
def test_what_was_checked_stays_as_it_is(url: str) -> None:
    """The canonical form is its own canonical form."""
    once = checked(url)

    assert checked(str(once)) == once
