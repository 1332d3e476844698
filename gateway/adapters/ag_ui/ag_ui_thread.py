"""A thread from its beginning, as AG-UI tells it."""

from collections.abc import Collection, Sequence
from itertools import groupby

from gateway.adapters.ag_ui.ag_ui_frames import AgUiRun, RunStream
from gateway.adapters.ag_ui.ag_ui_requests import RunBody
from gateway.adapters.turn_answer import EncodedAnswer
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import AttemptWithdrawn, Closed, Grew, Noted, Opened, Part
from gateway.events.envelope import StoredEvent
from gateway.storage.turns import TurnRow


class AgUiThread(EncodedAnswer):
    """The runs of a session: of its turns `shown`, and of the `running` one; up to `head`, the session's last
    event when this began, and to the end of that turn. What attempts had said before they were discarded is
    left out up to there."""

    def __init__(self, body: RunBody, shown: Collection[str], head: int, running: TurnRow | None) -> None:
        self._run = run_of(body)._replace(run_id="", tells_thread=True)
        super().__init__(RunStream(self._run))
        self._head = head
        self._running = running.id if running is not None else None
        self._shown = {*shown, self._running}
        self._held: list[Part] = []

    def read(self, events: Sequence[StoredEvent]) -> bool:
        for turn_id, found in groupby(events, lambda event: event.turn_id):
            if turn_id in self._shown:
                self._read(turn_id, [*found])
        if events[-1].seq < self._head:
            return False
        self._send_held()
        is_last = self._running in {None, self._fold.turn_id}
        self.is_finished = is_last and (self._fold.is_over or not self._fold.turn_id)
        if is_last and self._fold.waits_for:
            self.pause()
        return False

    def _read(self, turn_id: str, events: Sequence[StoredEvent]) -> None:
        if events[0].type == "turn_start" and self._fold.turn_id:
            self._encoder = RunStream(self._run._replace(messages=()))  # the first one has replaced them
            self._fold = Fold()
        elif self._fold.is_over:
            return  # behind its end
        for part in self._fold.take(events):
            if isinstance(part, AttemptWithdrawn) and any(isinstance(each, Opened) for each in self._held):
                self._held = [each for each in self._held if isinstance(each, Noted)]
                part = part._replace(spans=())  # noqa: PLW2901 - nobody has seen them
            self._held.append(part)
            if not isinstance(part, Opened | Grew | Closed | Noted):
                self._send_held()

    def _send_held(self) -> None:
        self._unsent += self._encoder.encode(self._held)
        self._held = []


def run_of(body: RunBody, known: Collection[str] = ()) -> AgUiRun:
    return AgUiRun(body.thread_id, body.run_id, body.protocol_version is not None, body.messages, known)
