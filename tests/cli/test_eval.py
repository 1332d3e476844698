"""`gateway eval`: conversations with models, what is checked of them, and how it ends."""

import asyncio
import json
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from gateway.cli.evaluation.answer_checks import KINDS, CheckResult, Kind, check, language_of, missed
from gateway.cli.evaluation.conversation_run import EvaluationTimeouts, converse
from gateway.cli.evaluation.conversations import (
    BUNDLED,
    ScriptedConversation,
    ScriptedMessage,
    load_conversations,
)
from gateway.cli.evaluation.endpoints import endpoint_of
from gateway.cli.evaluation.results import ModelResult, described
from tests.cli.calling import Command
from tests.forked import forked
from tests.loopback import TIMEOUT
from tests.paraphrasing_model.client import Scripted, paraphrasing_model
from tests.product import load_settings
from tests.running import ROOT, clean_environment, run_command

KEPT = """
conversations:
  - name: a lock
    memories: [The bicycle lock opens with 7706.]
    sessions:
      - - Good morning!
        - message: Which number opens the bicycle lock?
          recalled: [bicycle lock]
          answered: ["7706"]
          not_said: [telescope]
"""


@pytest.fixture
async def model() -> AsyncGenerator[Scripted]:
    async with paraphrasing_model() as scripted:
        yield scripted


async def asked(
    named: str,
    conversations: Sequence[ScriptedConversation],
    *,
    turn: float = TIMEOUT,
    model: float = TIMEOUT,
) -> ModelResult:
    """What comes of the conversations with that model."""
    messages = [message for each in conversations for message in each.messages]
    wanted = Counter[Kind](each.kind for message in messages for each in missed(message))
    result = ModelResult(named, "", wanted)
    timeouts = EvaluationTimeouts(turn, model)
    await converse(
        conversations,
        endpoint_of(named),
        load_settings(),
        timeouts=timeouts,
        result=result,
        on_turn=lambda: None,
    )
    return result


def counted(result: ModelResult) -> list[tuple[int, int]]:
    return [(result.count(kind), result.wanted[kind]) for kind in KINDS]


def failed(result: ModelResult) -> set[str]:
    """The conversations in which something was not passed."""
    assert result.failure is None, result.failure
    return {turn.conversation for turn, _ in result.misses}


@pytest.mark.anyio
async def test_what_comes_along_tells_models_apart(model: Scripted) -> None:
    """Each model is told of what it kept; the paraphrasing one forgets nothing and heeds no wish until it is
    scripted to, and the demo model answers in no other language than a memory's."""
    conversations = load_conversations(BUNDLED)
    demo = await asked("demo", conversations)
    fake = await asked(f"fake@{model.url}", conversations)

    assert demo.count("recalled") == demo.wanted["recalled"]
    assert failed(demo) == {"across languages"}
    assert failed(fake) == {
        *("across languages", "what is to be forgotten", "要忘掉的事"),
        *("English is wanted", "想要繁體中文"),
    }

    await model.script("What is the surprise", {"answer": "That has been deleted, as you wished."})
    await model.script("给妈妈的礼物是什么", {"answer": "已经忘掉了。"})
    await model.script("又见面了", {"answer": "Good to see you again!"})
    await model.script("從現在起", {"save": "希望用繁体中文交流。"}, {"answer": "好的，沒問題。"})
    await model.script("上次聊過天", {"answer": "你好！很高興再見到你。"})
    await model.script("vaccination", {"answer": "By **18 March**, the clinic’s number is 5540-2217."})
    await model.script("档案室", {"answer": "挂在 Mira 办公室的钟后面。"})

    assert (await asked(f"fake@{model.url}", conversations)).passed


@pytest.mark.anyio
async def test_a_wrong_answer_is_found(model: Scripted, command: Command, tmp_path: Path) -> None:
    """The model was told and says something else: exit code, table and a line with its answer tell."""
    (tmp_path / "kept.yaml").write_text(KEPT)
    await model.script("bicycle lock", {"answer": "Number 7707, and by the way, Nora gets a telescope."})
    arguments = ("eval", f"fake@{model.url}", "--conversations", "kept.yaml")
    seen = await asyncio.to_thread(command, *arguments)
    cells = {line.split()[0]: line.split()[1:] for line in seen.out.splitlines()}

    assert seen.code == 1
    assert cells["recalled"] == ["1", "of", "1"]
    assert cells["answered"] == ["0", "of", "1"]
    assert cells["cost"] == ["unknown"]
    assert cells["result"] == ["not", "passed"]
    assert "was not answered with: 7706. It said: “Number 7707, and" in seen.err
    assert "was answered with: telescope" in seen.err


def test_the_demo_model_needs_nothing(command: Command, tmp_path: Path) -> None:
    """Without settings the demo model is asked; each turn is a line on stderr, the table is on stdout, and
    nothing is left behind in the folder."""
    (tmp_path / "kept.yaml").write_text(KEPT)
    seen = command("eval", "--conversations", "kept.yaml")

    assert seen.code == 0, seen.err
    assert "demo 2/2 · a lock, session 1" in seen.err
    assert "passed" in seen.out
    assert [each.name for each in tmp_path.iterdir()] == ["kept.yaml"]


def test_an_endpoint_that_nobody_serves_is_a_named_error(command: Command, tmp_path: Path) -> None:
    """Beside the others in the table, and in JSON, which leaves out what is unknown."""
    (tmp_path / "kept.yaml").write_text(KEPT)
    seen = command("eval", "away@http://127.0.0.1:9", "demo", "--conversations", "kept.yaml", "--json")
    away, demo = json.loads(seen.out)["models"]

    assert (seen.code, away["passed"], demo["passed"]) == (1, False, True)
    assert away["error"]["code"] == "upstream_error"
    assert "127.0.0.1:9 cannot be reached" in away["error"]["message"]
    assert away["answered"] == {"passed": 0, "of": 1}
    assert {"cost", "tokens", "turn_ms"}.isdisjoint(away)
    assert "Traceback" not in seen.err


@pytest.mark.anyio
async def test_a_key_goes_to_its_endpoint_alone(
    model: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the variable which is named; the configured one to no other endpoint. None is told."""
    (tmp_path / "kept.yaml").write_text(KEPT)
    conversations = load_conversations(tmp_path / "kept.yaml")
    monkeypatch.setenv("SHUT_KEY", "bad-key")
    shut = await asked(f"shut@{model.url}#SHUT_KEY", conversations)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "bad-key")
    configured = await asked(f"other@{model.url}", conversations)

    assert shut.failure is not None
    assert shut.failure.code == "upstream_auth"
    assert counted(shut) == [(0, 1), (0, 1), (0, 1)]
    assert configured.passed
    assert "bad-key" not in str(described([shut, configured], "kept.yaml"))


@pytest.mark.anyio
async def test_turns_and_models_have_a_limit(tmp_path: Path) -> None:
    """A turn that does not end fails, a second one in a row ends the conversations with that model."""
    slow = {"name": "x", "sessions": [[{"message": "/pace 60000\n/pieces 9", "not_said": "x"}] * 9]}
    (tmp_path / "slow.yaml").write_text(json.dumps({"conversations": [slow]}))
    conversations = load_conversations(tmp_path / "slow.yaml")
    endless = await asked("demo", conversations, turn=0.5)
    late = await asked("demo", conversations, turn=0.5, model=0.2)

    assert endless.failure is not None
    assert (endless.failure.code, len(endless.turns)) == ("limit_reached", 2)
    assert late.failure is not None
    assert (late.failure.code, len(late.turns)) == ("out_of_time", 1)


@pytest.mark.anyio
async def test_what_was_superseded_is_no_answer(tmp_path: Path) -> None:
    """An attempt that broke in the middle of its text is not judged, only the one that took its place."""
    message = {"message": "/say telescope\n/fault fin_mid_chunk once", "answered": ["telescope"]}
    (tmp_path / "cut.yaml").write_text(
        json.dumps({"conversations": [{"name": "x", "sessions": [[message]]}]})
    )
    result = await asked("demo", load_conversations(tmp_path / "cut.yaml"))

    assert result.passed
    assert result.turns[0].answer == "telescope"


def test_ctrl_c_ends_it_and_shows_what_there_is(tmp_path: Path) -> None:
    """Exit code 130, the turns so far in the table, and no data left."""
    slow = {"name": "x", "sessions": [["Hello!", {"message": "/pace 60000\n/pieces 9", "not_said": "x"}]]}
    (tmp_path / "slow.yaml").write_text(json.dumps({"conversations": [slow]}))
    (tmp_path / "data").mkdir()
    (said := tmp_path / "said.txt").touch()
    arguments = ("eval", "--conversations", "slow.yaml")
    process = forked(run_command, tmp_path, arguments, clean_environment(TMPDIR=str(tmp_path / "data")), said)
    while process.is_alive() and "demo 1/2" not in said.read_text():
        time.sleep(0.02)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(TIMEOUT)

    assert process.exitcode == 130
    assert "interrupted" in said.read_text()
    assert "given up after turn 1" in said.read_text()
    assert "Traceback" not in said.read_text()
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "content", "told"),
    [
        ((), "conversations: [", "set.yaml is not YAML"),
        (
            (),
            KEPT.replace("The bicycle lock opens with 7706.", "{content: x, type: truth}"),
            "memories.0.type",
        ),
        ((), "conversations: [{name: x, sessions: [{role: a b, messages: [x]}]}]", "sessions.0.role"),
        ((), "conversations: []", "conversations: must have at least 1 item"),
        ((), KEPT.replace("answered", "anwsered"), "sessions.0.messages.1.anwsered: unknown name"),
        ((), KEPT + KEPT.partition("conversations:\n")[2], "two conversations of one name"),
        (
            (),
            "conversations: [{name: x, sessions: [[" + "a, " * 1001 + "]]}]",
            "1001 messages; 1000 are the most",
        ),
        ((), "conversations: [{name: x, sessions: [[a]]}]", "the conversation x checks nothing"),
        ((), "x" * 1_048_577, "larger than 1048576 bytes"),
        (("--only", "telescope"), KEPT, "has a name with telescope in it"),
        (("weak",), KEPT, "No endpoint is configured for weak"),
        (("weak@http://127.0.0.1:9#WEAK_KEY",), KEPT, "WEAK_KEY, which holds the key"),
    ],
)
def test_what_cannot_be_asked_is_told_before_anything_is(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], content: str, told: str
) -> None:
    """Exit code 2, and one message that says what to mend."""
    (tmp_path / "set.yaml").write_text(content)
    seen = command("eval", "demo", *arguments, "--conversations", "set.yaml")

    assert (seen.code, seen.out) == (2, "")
    assert told in seen.err


def test_it_does_not_check_a_memory_that_is_switched_off(command: Command) -> None:
    """It says which setting stands in the way."""
    seen = command("eval", GATEWAY_MEMORY="false")
    assert (seen.code, "GATEWAY_MEMORY" in seen.err) == (2, True)


@pytest.mark.parametrize("page", ["docs/eval.md", "docs/zh/eval.md"])
def test_the_conversations_of_the_docs_can_be_asked(tmp_path: Path, page: str) -> None:
    """The YAML that a page shows is YAML that the command takes."""
    shown = (ROOT / page).read_text().partition("```yaml\n")[2].partition("```")[0]
    (tmp_path / "mine.yaml").write_text(shown)
    assert len(load_conversations(tmp_path / "mine.yaml")[0].messages) == 3


def test_one_expectation_needs_no_list(tmp_path: Path) -> None:
    given = "conversations: [{name: x, sessions: [[{message: a, answered: cashew, not_said: milk}]]}]"
    (tmp_path / "mine.yaml").write_text(given)

    ((message,),) = [each.messages for each in load_conversations(tmp_path / "mine.yaml")]

    assert (message.answered, message.not_said) == ((("cashew",),), ("milk",))


def test_what_comes_along_is_in_both_languages() -> None:
    """English, simplified and traditional Chinese, and each conversation checks something."""
    found = load_conversations(BUNDLED)
    languages = {language_of(message.message) for each in found for message in each.messages}

    assert {"english", "simplified", "traditional"} <= languages
    assert all(any(check(message, (), "") for message in each.messages) for each in found)


@pytest.mark.parametrize(
    ("wanted", "answer", "passed"),
    [
        ("7706", "It opens with **7706**.", True),
        ("7706", "It opens with 77061.", False),
        ("16:00", "From 16：00 on.", True),
        ("12", "Fr. 12.50", False),
        ("3120", "EUR 3,120", True),
        ("peanut", "Peanuts, all kinds.", True),
        ("oat", "A boat.", False),
        ("don't", "I don’t know.", True),
        ("机房", "因為機房不允許。", True),
        ("二十七号", "在 二十七號。", True),
    ],
)
def test_words_are_found_however_they_are_written(wanted: str, answer: str, passed: bool) -> None:
    """Emphasis, widths, typographic signs and scripts do not matter; a part of a number or of a word does."""
    message = ScriptedMessage(message="?", answered=((wanted,),), not_said=(wanted,))
    assert check(message, (), answer) == [
        CheckResult("answered", wanted, passed),
        CheckResult("not_said", wanted, not passed),
    ]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The lock opens with 7706; 锁 is its name.", "english"),
        ("你得知我以前说过：锁的密码（lock code）是 7706。", "simplified"),
        ("我得知你以前說過：鎖在台北，密碼是 7706。", "traditional"),
        ("好。", None),
        ("7706", None),
    ],
)
def test_the_language_of_an_answer_is_known(text: str, language: str | None) -> None:
    """Also with names in another script; where both scripts have the same characters, it is neither."""
    assert language_of(text) == language
