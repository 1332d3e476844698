"""A conversation of the page, in a browser, and what a reader does there."""

from playwright.sync_api import Locator, Page


def place_of(page: Page) -> str:
    """The address of the session on the screen, below the API."""
    base, session = page.url.split("/#s=")
    return f"{base}/api/sessions/{session}"


def announced(page: Page) -> Locator:
    """What is read out to those who do not see the page."""
    return page.locator(".unseen[aria-live=polite]")


def event_types(page: Page) -> list[str]:
    """The types of the session's events, pieces in a row counting once."""
    events = page.request.get(f"{place_of(page)}/events?limit=1000", headers={"Accept": "application/json"})
    types = [event["type"] for event in events.json()["events"]]
    return [
        each
        for at, each in enumerate(types)
        if at == 0 or each != types[at - 1] or each not in ("text", "thinking")
    ]
