"""How limits stand, as the headers RateLimit-Policy and RateLimit tell it
(draft-ietf-httpapi-ratelimit-headers-10)."""

from collections.abc import Sequence

from starlette.datastructures import MutableHeaders

from gateway.ids import now_ms
from gateway.storage.limits import Standing

UNITS = {"turns": "turns", "concurrent": "turns", "tokens": "tokens", "cost": "microdollars"}
"""By what a limit counts; without one a limit counts requests, which the draft takes for granted."""


def put_limits(headers: MutableHeaders, standings: Sequence[Standing]) -> None:
    """Adds the two headers: of each limit its quota (q), window (w) and unit (qu); what is left (r), and in
    how many seconds it begins anew (t)."""
    now = now_ms()
    policies, lefts = list[str](), list[str]()
    for standing in standings:
        counter = standing.counter
        unit = UNITS.get(counter.measure)
        policy, left = f'"{counter.title}";q={counter.most}', f'"{counter.title}";r={standing.left}'
        if counter.ends:
            policy += f";w={(counter.ends - counter.began) // 1000}"
            left += f";t={max(0, -(-(counter.ends - now) // 1000))}"
        policies.append(policy if unit is None else f'{policy};qu="{unit}"')
        lefts.append(left)
    headers["ratelimit-policy"] = ", ".join(policies)
    headers["ratelimit"] = ", ".join(lefts)
