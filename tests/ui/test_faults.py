"""The page where the server, the network or the browser fails."""

import resource
import signal
from collections.abc import Generator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.loopback import TIMEOUT
from tests.relay import Relay, relaying
from tests.running import gateway_process
from tests.ui.conversation.chat import event_types, place_of
from tests.ui.page import ask, ended_within, in_a_browser, opened

pytestmark = [*in_a_browser, pytest.mark.long]

NOTE = '/call write_note {"text": "one"}\n/then /say noted'
NO_ROOM = 4096
"""Bytes that a file may have: no commit fits."""
FULL = """Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); }"""
DENIED = """for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
    Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
}"""


class Server:
    """A gateway at one address that can be killed, and started again on what it had stored."""

    def __init__(self, folder: Path, relay: Relay, stack: ExitStack) -> None:
        self.folder, self.relay, self.stack = folder, relay, stack
        self.start()

    def start(self) -> None:
        self.running = self.stack.enter_context(gateway_process(self.folder))
        self.relay.upstream = ("127.0.0.1", int(self.running.url.rpartition(":")[2]))

    def kill(self) -> None:
        self.running.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with ExitStack() as stack, relaying("http://127.0.0.1:9") as relay:
        yield Server(tmp_path_factory.mktemp("faults"), relay, stack)


@pytest.fixture(scope="module")
def tab(browser: Browser, server: Server) -> Generator[Page]:
    with opened(browser, server.relay.url) as page:
        yield page


@pytest.fixture
def own_page(browser: Browser, server: Server) -> Generator[Page]:
    """For a test that changes the browser's clock or its storage."""
    with opened(browser, server.relay.url) as page:
        yield page


def begun(url: str, session: str, *messages: str) -> None:
    """A session in which these messages were answered, told by another client."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=TIMEOUT) as http:
        http.post("/api/sessions", json={"id": session, "title": session})
        for message in messages:
            stream = {"Accept": "text/event-stream"}
            http.post(f"/api/sessions/{session}/turns", json={"message": message}, headers=stream)


def starts(page: Page) -> int:
    return event_types(page).count("turn_start")


def test_two_tabs_finish_an_answer_whose_server_was_killed(
    browser: Browser, page: Page, server: Server
) -> None:
    """Both show the same: all of the answer, once."""
    ask(page, "/pieces 60 /pace 30")
    expect(page.locator(".prose")).to_contain_text("005")
    with opened(browser, page.url) as other:
        expect(other.locator(".prose")).to_contain_text("005")
        server.kill()
        expect(page.get_by_text("No connection, trying again…")).to_be_visible()
        server.start()

        for each in (page, other):
            expect(each.locator(".outcome.completed")).to_be_visible()
            expect(each.locator(".prose")).to_have_text(" ".join(f"{number:03d}" for number in range(60)))
            expect(each.get_by_text("No connection, trying again…")).to_have_count(0)
            expect(each.locator(".plain")).to_have_count(0)
        assert page.locator("#messages").inner_text() == other.locator("#messages").inner_text()


def test_what_waits_for_a_person_or_is_uploaded_outlasts_the_server(page: Page, server: Server) -> None:
    """The card can be answered as before; a file that did not arrive says so, and is taken later."""
    ask(page, NOTE)
    expect(page.locator(".approval")).to_be_visible()

    def fail(route: Route) -> None:
        server.kill()
        route.continue_()

    page.route("**/api/artifacts?*", fail)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"spring"}])
    expect(page.locator("#draft-files .trouble")).to_contain_text("a.txt")
    page.unroute("**/api/artifacts?*")
    server.start()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#draft-files .chip:not(.trouble):not(.uploading)")).to_contain_text("6 bytes")
    page.locator(".approval").get_by_role("button", name="Approve").click()

    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".prose")).to_have_text("noted")
    assert event_types(page).count("tool_result") == 1


def test_after_an_hour_without_a_network_all_is_there_and_sent_once(own_page: Page, server: Server) -> None:
    """What others did meanwhile, and what was written here."""
    page = own_page
    page.clock.install()
    page.reload()
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()
    session = place_of(page).rpartition("/")[2]
    page.context.set_offline(True)
    server.relay.cuts = [0] * 1000
    for followed in list(server.relay.open):
        followed.close()
    begun(server.running.url, session, "/say two", "/say three")
    ask(page, "/say four")
    expect(page.locator(".pending")).to_contain_text("Sent when the connection is back.")
    page.clock.fast_forward(3_600_000)
    expect(page.locator(".pending")).to_contain_text("Sent when the connection is back.")

    server.relay.cuts = []
    page.context.set_offline(False)

    expect(page.locator(".prose")).to_have_text(["one", "two", "three", "four"])
    expect(page.locator(".pending")).to_have_count(0)
    assert starts(page) == 4


def test_a_message_waits_for_room_on_the_disk_of_the_server(page: Page, server: Server) -> None:
    """It says why it waits, and is sent by itself, once."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()
    pid, hard = server.running.pid, resource.prlimit(server.running.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (NO_ROOM, hard))  # writes fail as on a full disk
    ask(page, "/say two")
    expect(page.locator(".pending")).to_contain_text(
        "The server is out of storage space. It will be sent again automatically."
    )

    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))

    expect(page.locator(".prose")).to_have_text(["one", "two"])
    expect(page.locator(".pending")).to_have_count(0)
    assert starts(page) == 2


def test_two_tabs_change_the_same_message_and_both_variants_stay(browser: Browser, page: Page) -> None:
    """What is being written stays where another variant appears; it is asked after that one, and each tab
    shows both."""
    ask(page, "/say one")
    expect(page.locator(".outcome.completed")).to_be_visible()
    with opened(browser, page.url) as other:
        for each in (page, other):
            each.get_by_role("button", name="Edit").click()
        page.locator(".branching textarea").fill("/pieces 30 /pace 20")
        other.locator(".branching textarea").fill("/say other")
        page.locator(".branching").get_by_role("button", name="Send").click()
        expect(other.locator(".prose")).to_contain_text("000")  # as it is asked; and
        expect(other.locator(".branching textarea")).to_have_value("/say other")
        other.locator(".branching").get_by_role("button", name="Send").click()

        for each in (page, other):
            expect(each.locator(".branching .place")).to_have_text("3/3")
            expect(each.locator(".outcome.completed")).to_be_visible()
            expect(each.locator(".prose")).to_have_text("other")
            expect(each.locator(".pending, .refused")).to_have_count(0)
        page.get_by_role("button", name="Earlier variant").click()
        expect(page.locator(".prose")).to_contain_text("029")
        page.get_by_role("button", name="Earlier variant").click()
        expect(page.locator(".prose")).to_have_text("one")
    assert starts(page) == 3


def test_events_of_a_later_version_disturb_nothing(page: Page, server: Server) -> None:
    """They are shown as they are, in the conversation and in the inspector."""
    begun(server.running.url, "later", "How do I resume a stream? And what is 17*23?")

    def later(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        for event in body["events"]:
            if event["type"] == "retrieval":
                event["type"] = "hologram"
        route.fulfill(response=response, json=body)

    page.route("**/api/sessions/later/events?*before*", later)
    page.evaluate("location.hash = 's=later'")
    expect(page.locator(".outcome.completed")).to_be_visible()
    expect(page.locator(".answer strong", has_text="391")).to_be_visible()
    expect(page.locator(".step.unknown")).to_contain_text("hologram (of a newer version)")
    page.get_by_role("button", name="Show inspector").click()
    page.get_by_role("tab", name="Events").click()
    page.get_by_role("searchbox", name="Search events").fill("hologram")
    page.locator(".events [role=option]").click()

    expect(page.locator(".events-detail pre")).to_contain_text('"type": "hologram"')


@pytest.mark.parametrize("fault", [FULL, DENIED], ids=["full", "denied"])
def test_a_browser_that_keeps_nothing_is_enough(own_page: Page, fault: str) -> None:
    """All that is lost is what outlasts a page."""
    page = own_page
    page.add_init_script(fault)
    page.reload()
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("radio", name="Dark").check()
    page.keyboard.press("Escape")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    ask(page, "/say one")
    expect(page.locator(".prose")).to_have_text(["one"])
    ask(page, "/say two")
    expect(page.locator(".prose")).to_have_text(["one", "two"])
    page.get_by_role("button", name="New chat").first.click()
    expect(page.locator("#welcome")).to_be_visible()
    page.get_by_label("Message", exact=True).fill("to be continued")
    page.go_back()
    expect(page.locator(".prose")).to_have_text(["one", "two"])
    page.go_forward()

    expect(page.get_by_label("Message", exact=True)).to_have_value("to be continued")


@pytest.mark.parametrize("days", [-365, 365])
def test_a_browser_whose_clock_is_wrong_shows_the_times_of_the_server(
    own_page: Page, server: Server, days: int
) -> None:
    """Today is today, an approval can be given as long as the server takes it, and nothing lasts less than no
    time."""
    page = own_page
    session = f"clock{days}"
    begun(server.running.url, session, "/say one", "/pieces 3")
    httpx2.post(f"{server.running.url}/api/sessions/{session}/turns", json={"message": NOTE}, trust_env=False)
    page.clock.set_system_time(datetime.now(UTC) + timedelta(days=days))
    page.reload()
    row = page.locator(f"[data-chat='{session}']")
    expect(page.locator(".chats-list section").filter(has=row).get_by_role("heading")).to_have_text("Today")
    row.get_by_role("link").click()
    expect(page.locator(".approval .time")).to_have_text("24 hours left")
    page.locator(".approval").get_by_role("button", name="Approve").click()
    expect(page.locator(".outcome.completed")).to_have_count(3)
    page.get_by_role("button", name="Show inspector").click()
    expect(page.locator(".bar").first).to_be_visible()

    assert "-" not in page.locator(".outcome").first.inner_text()
    assert "-" not in page.locator(".inspect-panel").inner_text()


def test_a_wait_without_end_fails_at_its_place(page: Page) -> None:
    """And the page can be asked again."""
    with pytest.raises(pytest.fail.Exception, match="not ended within"), ended_within(0.1):
        page.evaluate("new Promise(() => {})")

    assert page.evaluate("1 + 1") == 2
