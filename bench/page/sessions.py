"""Sessions of very many turns, stored as a gateway stores them."""

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson

from gateway.auth import LOCAL_USER
from gateway.demo.wire import block_start, block_stop, delta
from gateway.events.envelope import StoredEvent, encode, encode_scope
from gateway.messages import Message, text_block
from gateway.storage.log import Append, Closing
from gateway.storage.turns import NewTurn
from gateway.wiring import Storage

Said = tuple[str, dict[str, Any]]
"""The type of an event and its data."""

AT = 1_795_000_000_000
ANSWER = """\
## Answer {number}
**The gateway** keeps every event, so that *a reader* may resume. 网关会保存每一个事件，读者可以继续阅读。
- it is stored before it is shown
- `seq` has no gap
### Events
| event | when |
|---|---|
| `turn_start` | first |
| `done` | last |
```python
for event in follow(session):
    print(event)
```
"""
FORMULAS = "The energy is $E = mc^2$, and 能量守恒：\n\n$$\\int_0^1 x^2 \\,dx = \\frac{{1}}{{3}}$$\n\n"
LONG_ANSWER = ANSWER + FORMULAS + ANSWER * 4
"""Of 2,500 characters, with formulas."""
SCRIPT = "\n".join(f"/say {line}" for line in (ANSWER.format(number=1) * 60).splitlines())
"""An answer as long as 3,000 pieces, for the demo model."""
DIRECTIVES = 900
"""Which the demo model takes in one message, with room for others."""
TURN_START = {"model": "demo", "trace_id": "0" * 32}


def saying(text: str) -> str:
    """What has the demo model write it: word by word, or in a few hundred pieces what has lines."""
    if "\n" not in text:
        return f"/say {text}"
    size = len(text) // DIRECTIVES + 1
    written = (
        delta(0, {"type": "text_delta", "text": text[at : at + size]}) for at in range(0, len(text), size)
    )
    whole = (block_start(0, text_block("")), *written, block_stop(0))
    return "\n".join(f"/raw {orjson.dumps(each).decode()}" for each in whole)


async def store(storage: Storage, session: str, count: int, answer: str = ANSWER) -> None:
    """`count` turns, each a question and an answer in Markdown."""
    head = 0
    for number in range(1, count + 1):
        said = [
            ("turn_start", TURN_START | {"input": f"Question {number}: what does the gateway keep?"}),
            ("iteration_start", {"attempt": 1, "model": "demo"}),
            ("text", {"text": answer.format(number=number)}),
            ("iteration_end", {"stop_reason": "end_turn", "duration_ms": 9}),
        ]
        head = await store_turn(storage, f"t_{session}_{number}", session, said, head)


async def store_warnings(storage: Storage, session: str, count: int) -> None:
    """Turns of a thousand events, each a row of its own where they are listed."""
    head = 0
    for number in range(1, count // 1_000 + 1):
        said: list[Said] = [("turn_start", TURN_START | {"input": "Warn me"})]
        said += [("warning", {"code": "tool_failed", "message": f"Warning {at}"}) for at in range(998)]
        head = await store_turn(storage, f"t_{session}_{number}", session, said, head)


async def store_turn(storage: Storage, turn: str, session: str, said: Sequence[Said], head: int) -> int:
    """A whole turn of which this is said, after the event `head`; the head after it."""
    owner, question = LOCAL_USER.user_id, str(said[0][1]["input"])
    new = NewTurn(turn, session, owner, question, "demo", None, "reject", create_session=head == 0, at=AT)
    epoch = (await storage.turns.accept(new, max_queued=0)).turn.epoch
    done = {"status": "completed", "stop_reason": "end_turn", "iterations": 1, "duration_ms": 10}
    scope = encode_scope(session, turn)
    events = [
        StoredEvent(seq, kind, turn, encode(seq, kind, AT + seq, scope, orjson.dumps(data)))
        for seq, (kind, data) in enumerate([*said, ("done", done)], head + 1)
    ]
    text = "".join(str(data["text"]) for kind, data in said if kind == "text")
    message = Message("assistant", [text_block(text)]) if text else None
    fates = [asyncio.get_running_loop().create_future() for _ in range(2)]
    storage.log.append(
        Append(session, turn, epoch, head, events[:-1], fates[0].set_result, message, sync=False)
    )
    closing = Closing("completed", 1, None, None, AT)
    head = events[-2].seq
    storage.log.append(Append(session, turn, epoch, head, events[-1:], fates[1].set_result, closing=closing))
    assert set(await asyncio.gather(*fates)) == {None}
    return events[-1].seq
