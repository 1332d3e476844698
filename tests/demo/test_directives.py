"""The line language that scripts the demo."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.demo import wire
from gateway.demo.directives import BadDirective, FaultCall, ScriptedCall, Think, parse
from gateway.demo.wire import GeneratedText, Raw, split, text_block
from tests.demo.bare import ask
from tests.demo.conftest import Send

pytestmark = pytest.mark.anyio


def test_directives_make_steps_in_order() -> None:
    """A script is read into its steps; what is no directive is left over."""
    steps, plain = parse(
        [
            "/think Hm.",
            "/say Hello /not a directive",
            "/say again",
            '/call add {"a": 1}',
            "/call now",
            "/pace 50",
            "and a question?",
            "/then",
            '/raw {"type":"ping"}',
            "/pieces 3 /stamp /burst",
            "/stop null",
            "/fault http_529 7 once",
        ]
    )
    first, second = steps
    block = text_block("Hello /not a directive\nagain")
    assert list(first.parts) == [Think("Hm."), block, ScriptedCall("add", {"a": 1}), ScriptedCall("now", {})]
    assert list(second.parts) == [Raw({"type": "ping"}), GeneratedText(3, stamped=True)]
    assert (first.pace, second.pace, second.burst, second.stop_reason) == (0.05, 0.05, True, None)
    assert second.fault == FaultCall("http_529", "7", once=True)
    assert plain == "and a question?"


@pytest.mark.parametrize("text", ["What does\n/api/chat\ndo?", "1 /2", "", "/", "// no", "/Users /home"])
def test_a_text_with_slashes_is_no_script(text: str) -> None:
    """Paths and divisions are not directives."""
    assert parse(text.split("\n"))[0] == []


@pytest.mark.parametrize(
    "line",
    [
        "/sing a song",
        "/pace fast",
        "/pieces -1",
        "/pieces 9999999",
        "/call x {",
        "/raw []",
        "/say",
        "/fault",
        "/fault a b c",
        "/burst /sing",
    ],
)
async def test_an_unknown_or_wrong_directive_is_a_400_that_names_it(send: Send, line: str) -> None:
    """The request is refused, and the message has the directive."""
    with pytest.raises(BadDirective):
        parse([line])
    received = await send(ask(line))
    assert received.status == 400
    assert (
        line.rsplit("/", maxsplit=1)[-1].split(maxsplit=1)[0] in json.loads(received.body)["error"]["message"]
    )


@given(st.text())
def test_pieces_concatenate_to_the_text(text: str) -> None:
    """Splitting loses and adds nothing, and no piece is empty."""
    assert "".join(split(text)) == text
    assert all(split(text))


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_survives_the_wire(text: str) -> None:
    """A text's frames hold exactly the text."""
    reply = wire.DemoReply("msg_1", "demo", [text_block(text)])
    frames = [wire.frame(event) for event in wire.events(reply)]
    data = [json.loads(frame.split(b"data: ", 1)[1]) for frame in frames if isinstance(frame, bytes)]
    pieces = [event["delta"]["text"] for event in data if event["type"] == "content_block_delta"]
    assert "".join(pieces) == text


async def test_each_call_of_the_turn_takes_the_next_step(send: Send) -> None:
    """The step follows from how many answers came after the question; after the last one it is done."""
    messages = ask("/say one\n/then\n/say two")["messages"]
    texts: list[str] = []
    for _ in range(3):
        texts.append((await send({**ask(""), "messages": messages})).text)
        messages = [*messages, {"role": "assistant", "content": texts[-1]}]
    assert texts == ["one", "two", "Done."]


async def test_the_header_scripts_a_plain_question(send: Send) -> None:
    """x-demo takes directives separated by ;; and leaves the message alone."""
    received = await send(ask("A question."), x_demo="/say from the header;;/stop max_tokens")
    assert received.text == "from the header"
    assert received.events[-2]["delta"]["stop_reason"] == "max_tokens"


async def test_a_stop_reason_and_raw_events_go_out_as_they_are(send: Send) -> None:
    """/stop and /raw are not judged."""
    received = await send(ask('/say a\n/raw {"type":"strange","x":[1]}\n/stop something_new'))
    assert {"type": "strange", "x": [1]} in received.events
    assert received.events[-2]["delta"]["stop_reason"] == "something_new"


async def test_a_question_keeps_its_answer_with_modifiers_beside_it(send: Send) -> None:
    """/pace and /burst beside a question change how it is answered, not what."""
    plain = await send(ask("hello"))
    burst = await send(ask("/burst\nhello"))
    assert burst.text == plain.text
