"""A person at a terminal: what they write is sent, or is a command of the terminal's own."""

import asyncio
import signal
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from prompt_toolkit.application import get_app

from gateway.cli.chat.chat_session import ChatSession
from gateway.cli.chat.message_prompt import message_prompt, on_terminal
from gateway.cli.chat.slash_commands import SlashCommands
from gateway.cli.terminal import to_stderr
from gateway.errors import GatewayError


async def hold_dialogue(conversation: ChatSession) -> int:
    """Until Ctrl-D, a second Ctrl-C or /quit. Returns the exit code 0."""
    conversation.is_dialogue = True
    to_stderr("Enter sends, Ctrl-C stops an answer, Ctrl-D leaves, /help shows more.")
    interrupts = _Interrupts()
    with on_terminal(), _no_echo(), interrupts.held():
        await _talk(conversation, interrupts)
    if conversation.session_id is not None:
        to_stderr(f"To go on: gateway chat --resume {conversation.session_id}")
    return 0


class _Interrupts:
    """Ctrl-C while nothing listens to it, between two prompts or during a command, is pressed at the next
    prompt. A second one ends the program."""

    def __init__(self) -> None:
        self._is_pressed = False

    @contextmanager
    def held(self) -> Generator[None]:
        before = signal.signal(signal.SIGINT, self._press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def pass_on(self) -> None:
        """Called by a prompt that begins to listen."""
        if self._is_pressed:
            self._is_pressed = False
            asyncio.get_running_loop().call_soon(get_app().key_processor.send_sigint)

    def _press(self, *_: Any) -> None:
        if self._is_pressed:
            raise KeyboardInterrupt
        self._is_pressed = True


async def _talk(conversation: ChatSession, interrupts: _Interrupts) -> None:
    prompt, commands = message_prompt(), SlashCommands(conversation)
    if conversation.session_id is not None:
        await commands.run(f"/resume {conversation.session_id}")
    unsent, warned = "", False
    while not commands.is_over:
        try:
            line = await prompt.prompt_async("› ", default=unsent, pre_run=interrupts.pass_on)
        except KeyboardInterrupt:
            if warned and not prompt.default_buffer.text:
                return
            warned = not prompt.default_buffer.text
            to_stderr("Ctrl-C again leaves." if warned else "")
            unsent = ""
            continue
        except EOFError:
            return
        unsent, warned = "", False
        before = conversation.last_turn
        try:
            if not await commands.run(line):
                await conversation.ask(line.removeprefix("/") if line.startswith("//") else line)
        except GatewayError as error:
            to_stderr(f"✗ {error}")
            unsent = line if conversation.last_turn == before else ""


@contextmanager
def _no_echo() -> Generator[None]:
    """Input that is typed while an answer comes is not shown in the middle of it, but is there, key by key,
    when the next message is written. Ctrl-C stays a signal."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    quiet = termios.tcgetattr(descriptor)
    quiet[0] &= ~termios.ICRNL
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(descriptor, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
