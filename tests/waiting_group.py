"""Two groups of processes for one run of the tests, so that the machine is neither idle nor crowded: a few
for the files that compute, and beside them more for those that wait for servers, browsers and clocks.

`pytestmark` of a file that waits has the marker `waits`. A process imports the files of its group alone.
Within a group all of a file is run by one process, as by `--dist loadfile`.
"""

import re
from binascii import crc32
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

WAITING, COMPUTING = "waiting", "computing"
OPTION = "--waiting-processes"
_WAITS = re.compile(rb"^pytestmark = [^\n\[]*(?:\[[^\]]*)?\b(?:mark\.waits|in_a_browser)\b", re.MULTILINE)

_FILE = re.compile(r"\.py(::|$)")


def group_of(file: Path) -> str:
    """Whose the file is, as its text says: nothing of it is imported."""
    return WAITING if _WAITS.search(file.read_bytes()) else COMPUTING


def group_of_process(config: pytest.Config) -> str | None:
    """The group that this process runs; None: everything, or nothing, as it only distributes."""
    return getattr(config, "workerinput", {}).get("group")


def is_left_to_others(file: Path, config: pytest.Config) -> bool:
    """Whether a process of the other group runs the tests of that file."""
    group = group_of_process(config)
    return group is not None and file.match("test_*.py") and group_of(file) != group


def put_in_order(items: list[pytest.Item], config: pytest.Config) -> None:
    """In one of several processes: what takes long goes first, so that none is left with it at the end; and
    browsers, which take most of the machine, are spread among the others that wait."""
    if not hasattr(config, "workerinput"):
        return
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("long", "browser"))))
    if group_of_process(config) == WAITING:
        items.sort(key=lambda item: crc32(item.nodeid.partition("::")[0].encode()))


def check_groups(items: Sequence[pytest.Item]) -> None:
    """Raises pytest.UsageError: a test has the marker `waits` in a way by which its file is not found."""
    found = {(item.path, item.get_closest_marker("waits") is not None) for item in items}
    for file, waits in found:
        if waits != (group_of(file) == WAITING):
            raise pytest.UsageError(f"{file}: the marker waits belongs on the line of its pytestmark")


def distribute(config: pytest.Config) -> None:
    """Adds the waiting processes to those of `--numprocesses`, where whole folders are asked for."""
    waiting = config.getoption(OPTION)
    computing = len(config.getoption("tx", None) or [])
    is_of_some = any(_FILE.search(each) for each in config.args) or config.getoption("lf", default=False)
    if hasattr(config, "workerinput") or not (waiting and computing) or is_of_some:
        return
    config.option.tx = [*config.option.tx, *["popen"] * waiting]
    config.pluginmanager.register(_Distribution({WAITING: waiting, COMPUTING: computing}))


class _Distribution:
    """Hooks of the process that distributes the tests; the scheduler that xdist asks."""

    def __init__(self, processes: dict[str, int]) -> None:
        self._processes = processes
        self._parts: dict[str, LoadFileScheduling] = {}
        self._group_of: dict[WorkerController, str] = {}
        self._session: pytest.Session

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl
    def pytest_configure_node(self, node: WorkerController) -> None:
        """Of a new process, also of one in the place of one that died."""
        there = [*self._group_of.values()]
        group = next(each for each, wanted in self._processes.items() if there.count(each) < wanted)
        self._group_of[node] = node.workerinput["group"] = group

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        for group, wanted in self._processes.items():
            self._parts[group] = LoadFileScheduling(config, log)
            self._parts[group].numnodes = wanted
        return self

    # What follows is `xdist.scheduler.protocol.Scheduling`.

    @property
    def nodes(self) -> list[WorkerController]:
        return [node for part in self._parts.values() for node in part.nodes]

    @property
    def collection_is_completed(self) -> bool:
        """Of one group: it begins at once."""
        return any(part.collection_is_completed for part in self._parts.values())

    @property
    def tests_finished(self) -> bool:
        return all(part.tests_finished for part in self._parts.values())

    @property
    def has_pending(self) -> bool:
        return any(part.has_pending for part in self._parts.values())

    def add_node(self, node: WorkerController) -> None:
        self._part(node).add_node(node)

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        self._part(node).add_node_collection(node, collection)
        found = [next(iter(part.registered_collections.values()), []) for part in self._parts.values()]
        self._session.testscollected = sum(map(len, found))

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        self._part(node).mark_test_complete(node, item_index, duration)

    def mark_test_pending(self, item: str) -> NoReturn:
        raise NotImplementedError

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        crashed = self._part(node).remove_node(node)
        del self._group_of[node]
        return crashed

    def schedule(self) -> None:
        for part in self._parts.values():
            if part.collection_is_completed:
                part.schedule()
            if part.collection_is_completed and not part.collection:
                for node in part.nodes:
                    node.shutdown()

    def _part(self, node: WorkerController) -> LoadFileScheduling:
        return self._parts[self._group_of[node]]
