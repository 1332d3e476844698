"""The built-in tool for the time."""

from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from gateway.errors import ToolError
from gateway.ids import now_ms
from gateway.tools.function import tool


@tool(effect="read_only", timeout=5, short="Tells date and time.\n\nArgs:\n    timezone: IANA name.")
def current_time(timezone: str = "UTC") -> str:
    """Tells the current date, weekday and time in a time zone.

    Args:
        timezone: IANA name of the zone, such as "UTC", "Europe/Berlin" or "Asia/Shanghai".
    """
    try:
        now = datetime.fromtimestamp(now_ms() / 1000, zone(timezone))
    except ValueError as error:
        raise ToolError(str(error)) from None
    return f"{now.isoformat(timespec='seconds')} ({now:%A}, {timezone})"


def zone(name: str) -> tzinfo:
    """The time zone of that IANA name. Raises ValueError, with what to use instead."""
    if name.upper() in {"UTC", "Z", "GMT"}:
        return UTC  # also where there is no time zone database
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # Unknown, a path outside, a folder such as "America".
        raise ValueError(f"There is no time zone {name[:64]!r}. {_advice(name)}") from None


def _advice(name: str) -> str:
    zones = available_timezones()
    if not zones:
        return "This server has no time zone database: only UTC is known."
    by_lower = {zone.lower(): zone for zone in zones}
    close = get_close_matches(name.lower().replace(" ", "_")[:64], by_lower, n=3)
    if close:
        return f"Did you mean {' or '.join(by_lower[zone] for zone in close)}?"
    return "Use an IANA name such as Europe/Berlin or Asia/Shanghai."
