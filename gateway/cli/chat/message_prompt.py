"""The line on which messages are written: edited, completed, remembered."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth, Output, create_output
from prompt_toolkit.output.plain_text import PlainTextOutput

from gateway.cli.chat.chat_session import as_utf8
from gateway.cli.chat.slash_commands import NAMES
from gateway.cli.terminal import is_plain

LARGEST_HISTORY = 1_000_000
"""Bytes of the file of what was written before; of a larger one the newer half is kept."""


def message_prompt() -> PromptSession[str]:
    """Enter sends; Alt+Enter, Ctrl-J or a backslash before Enter begins another line."""
    keys = KeyBindings()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]
        event.current_buffer.insert_text("\n")

    session: PromptSession[str] = PromptSession(
        history=_history(),
        key_bindings=keys,
        completer=_Names(),
        complete_while_typing=Condition(lambda: session.default_buffer.text.startswith("/")),
        enable_open_in_editor=True,
        prompt_continuation="  ",
        color_depth=ColorDepth.DEPTH_1_BIT if is_plain() else None,
    )

    @keys.add(
        "enter", filter=Condition(lambda: session.default_buffer.document.text_before_cursor.endswith("\\"))
    )
    def _(event: KeyPressEvent) -> None:  # pyright: ignore[reportUnusedFunction]
        event.current_buffer.delete_before_cursor()
        event.current_buffer.insert_text("\n")

    return session


@contextmanager
def on_terminal() -> Generator[None]:
    """Prompts within are on the terminal, also where stdout is something else; on a dumb one they are plain
    lines."""
    if os.environ.get("TERM", "dumb") == "dumb":
        output: Output = PlainTextOutput(sys.stderr)
    else:
        output = create_output(always_prefer_tty=True)
    with create_app_session(output=output):
        yield


def history_file() -> Path:
    """Where messages are remembered: XDG_STATE_HOME/gateway (XDG Base Directory Specification 0.8)."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "gateway" / "chat_history"


class _History(FileHistory):
    def store_string(self, string: str) -> None:
        super().store_string(as_utf8(string))


def _history() -> FileHistory | None:
    """Readable for its user alone; None where it cannot be."""
    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        path.chmod(0o600)
        if path.stat().st_size > LARGEST_HISTORY:
            kept = path.read_bytes()[-LARGEST_HISTORY // 2 :]
            path.write_bytes(kept[kept.find(b"\n# ") + 1 :])  # each entry begins with a comment
    except OSError:
        return None
    return _History(str(path))


class _Names(Completer):
    """Names of commands, in the first word."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        if typed.startswith("/") and " " not in typed:
            for name, says in NAMES.items():
                if f"/{name}".startswith(typed):
                    yield Completion(f"/{name}", start_position=-len(typed), display_meta=says)
