"""A person at a terminal: what they write is sent, or is a command of the terminal's own."""

import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager

from gateway.cli.chat.chat_session import ChatSession
from gateway.cli.chat.message_prompt import message_prompt, on_terminal
from gateway.cli.chat.slash_commands import SlashCommands
from gateway.cli.terminal import to_stderr
from gateway.errors import GatewayError


async def hold_dialogue(conversation: ChatSession) -> int:
    """Until Ctrl-D, a second Ctrl-C or /quit. Returns the exit code 0."""
    conversation.is_dialogue = True
    to_stderr("Enter sends, Ctrl-C stops an answer, Ctrl-D leaves, /help shows more.")
    with on_terminal(), _no_echo():
        await _talk(conversation)
    if conversation.session_id is not None:
        to_stderr(f"To go on: gateway chat --resume {conversation.session_id}")
    return 0


async def _talk(conversation: ChatSession) -> None:
    prompt, commands = message_prompt(), SlashCommands(conversation)
    if conversation.session_id is not None:
        await commands.run(f"/resume {conversation.session_id}")
    unsent, warned = "", False
    while not commands.is_over:
        try:
            line = await prompt.prompt_async("› ", default=unsent)
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
    """What is typed while an answer comes is not shown in the middle of it, but is there, key by key, when
    the next message is written. Ctrl-C stays a signal."""
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
