"""Slash commands: lines that begin with a slash, for all that can be done beside writing messages."""

import inspect
import os
from difflib import get_close_matches
from typing import Any

from gateway.cli.chat.chat_session import ChatSession
from gateway.cli.chat.turn_view import show_markdown
from gateway.cli.session_commands import show_sessions, state_of, title_of
from gateway.cli.terminal import show_table, to_stderr
from gateway.errors import GatewayError
from gateway.session_pages.words import measured

SHOWN_MESSAGES = 4
"""Messages of a session that is gone on with."""


class SlashCommands:
    """A public method that begins with `do_` is a command; the first line of its docstring is its help."""

    def __init__(self, conversation: ChatSession) -> None:
        self.is_over = False
        self._talk = conversation
        self._client = conversation.client

    async def run(self, line: str) -> bool:
        """Whether the line was a command, or nothing at all; else it is a message. Raises GatewayError."""
        name, _, rest = line.strip().partition(" ")
        if not name:
            return True
        if not name.startswith("/") or "/" in name[1:]:
            return False
        if command := getattr(self, f"do_{ALIASES.get(name[1:], name[1:])}", None):
            await command(rest.strip())
            return True
        close = get_close_matches(name[1:], NAMES)
        meant = f"Did you mean /{close[0]}? " if close else "/help shows them. "
        to_stderr(f"There is no command {name}. {meant}Two slashes send a message that begins with one.")
        return True

    async def do_help(self, _: str) -> None:
        """show this"""
        for name, says in NAMES.items():
            to_stderr(f"  /{name:<11} {says}")
        to_stderr("  Alt+Enter, or \\ before Enter, begins another line; Ctrl-X Ctrl-E an editor.")

    async def do_new(self, title: str) -> None:
        """begin another session [TITLE]"""
        self._talk.session_id = self._talk.last_turn = None
        if title:
            self._talk.session_id = (await self._client.create_session(title=title))["id"]
        to_stderr("A new session.")

    async def do_sessions(self, words: str) -> None:
        """show the sessions used last, or those with [WORDS]"""
        show_sessions((await self._client.sessions(limit=20, q=words or None))["sessions"])

    async def do_resume(self, named: str) -> None:
        """go on with a session: [ID], or the last one"""
        listed = (await self._client.sessions(limit=200, archived="all"))["sessions"]
        found = [each for each in listed if each["id"].startswith(named)]
        if not found or (len(found) > 1 and named):
            show_sessions(found)
            to_stderr(f"{len(found) or 'No'} sessions begin so." if named else "There is none yet.")
            return
        self._talk.session_id = session = found[0]["id"]
        snapshot = await self._client.snapshot(session)
        for message in snapshot["messages"][-SHOWN_MESSAGES:]:
            _show_message(message)
        to_stderr(f"Session {session}, “{title_of(found[0])}”.")
        await self._follow(snapshot.get("open_turn"))

    async def do_follow(self, _: str) -> None:
        """show the turn that runs in this session"""
        if (turn := await self._open_turn()) is None:
            to_stderr("No turn runs.")
        await self._follow(turn)

    async def do_stop(self, _: str) -> None:
        """stop the turn that runs in this session"""
        if (turn := await self._open_turn()) is None:
            to_stderr("No turn runs.")
            return
        await self._client.cancel(turn["session_id"], turn["turn_id"])
        to_stderr("Stopped.")

    async def do_status(self, _: str) -> None:
        """show the session, its model and what the last turn used"""
        to_stderr(f"  gateway  {self._client.url}")
        to_stderr(f"  model    {self._talk.model or 'that of the gateway'}")
        if (session := self._talk.session_id) is None:
            to_stderr("  session  a new one, with the first message")
            return
        found = await self._client.session(session)
        to_stderr(f"  session  {session}, “{title_of(found)}” {state_of(found)}".rstrip())
        if self._talk.last_turn:
            turn = await self._client.turn(session, self._talk.last_turn)
            took = {"duration_ms": turn["ended_at"] - turn["created_at"]} if "ended_at" in turn else {}
            ended = turn.get("outcome") or turn["status"]
            to_stderr(f"  last     {turn['model']}: {ended}, {measured({**turn, **took})}")

    async def do_model(self, name: str) -> None:
        """show the models, or answer with [NAME] from now on"""
        listed = [each["id"] for each in (await self._client.ask("GET", "/v1/models"))["data"]]
        if not name:
            to_stderr(", ".join(f"{each} (chosen)" if each == self._talk.model else each for each in listed))
        elif name in listed:
            self._talk.model = name
            to_stderr(f"{name} from now on.")
        else:
            to_stderr(f"There is no model {name}: {', '.join(listed)}.")

    async def do_memory(self, words: str) -> None:
        """show what is remembered [WORDS]"""
        found = (await self._client.memories(limit=20, q=words or None))["memories"]
        show_table(("Id", "Type", "What"), [(each["id"], each["type"], each["content"]) for each in found])

    async def do_remember(self, text: str) -> None:
        """remember TEXT"""
        kept = await self._client.remember(text)
        to_stderr(f"Remembered as {kept['id']}.")

    async def do_summary(self, _: str) -> None:
        """summarise the session"""
        body = {"session_id": self._session()}
        show_markdown(_summary(await self._client.ask("POST", "/api/session/summary", body)))

    async def do_compress(self, _: str) -> None:
        """put a summary in the place of older messages"""
        done = await self._client.compress(self._session())
        to_stderr(f"Compressed: version {done['version']}.")

    async def do_rename(self, title: str) -> None:
        """give the session another TITLE"""
        changed = await self._client.change_session(self._session(), title=title)
        to_stderr(f"“{title_of(changed)}” from now on.")

    async def do_again(self, _: str) -> None:
        """have the last message answered once more, in a branch of its own"""
        turn = await self._client.regenerate(self._session(), self._turn())
        await self._talk.follow(turn["turn_id"], int(turn["seq"]))

    async def do_good(self, reason: str) -> None:
        """rate the last answer good [REASON]"""
        await self._rate("up", reason)

    async def do_bad(self, reason: str) -> None:
        """rate the last answer bad [REASON]"""
        await self._rate("down", reason)

    async def do_skills(self, _: str) -> None:
        """show what the model can use"""
        skills = (await self._client.skills())["skills"]
        rows = [(each["name"], each["type"], each["description"]) for each in skills if each["enabled"]]
        show_table(("Name", "Type", "Description"), rows)

    async def do_clear(self, _: str) -> None:
        """clear the screen"""
        print(end="\x1b[2J\x1b[H" if os.environ.get("TERM", "dumb") != "dumb" else "", flush=True)

    async def do_quit(self, _: str) -> None:
        """leave"""
        self.is_over = True

    async def _rate(self, rating: Any, reason: str) -> None:
        given = {"reason": reason} if reason else {}
        await self._client.give_feedback(self._session(), self._turn(), rating, **given)
        to_stderr("Thank you.")

    async def _open_turn(self) -> dict[str, Any] | None:
        if self._talk.session_id is None:
            return None
        return (await self._client.snapshot(self._talk.session_id)).get("open_turn")

    async def _follow(self, turn: dict[str, Any] | None) -> None:
        if turn is not None:
            await self._talk.follow(turn["turn_id"], max(turn.get("first_seq", 1) - 1, 0))

    def _session(self) -> str:
        if self._talk.session_id is None:
            raise GatewayError("There is no session yet: write something first.")
        return self._talk.session_id

    def _turn(self) -> str:
        if self._talk.last_turn is None:
            raise GatewayError("Nothing was answered here yet.")
        return self._talk.last_turn


NAMES = {
    name.removeprefix("do_"): (inspect.getdoc(method) or "").partition("\n")[0]
    for name, method in vars(SlashCommands).items()
    if name.startswith("do_")
}
ALIASES = {"exit": "quit", "q": "quit", "h": "help", "?": "help", "regenerate": "again"}


def _summary(made: dict[str, Any]) -> str:
    """The fields, a paragraph or a list each."""
    said = {name.replace("_", " "): value for name, value in made["summary"].items() if value}
    return "\n\n".join(
        f"**{name}**\n" + "\n".join(f"- {each}" for each in (value if isinstance(value, list) else [value]))
        for name, value in said.items()
    )


def _show_message(message: dict[str, Any]) -> None:
    texts = [block["text"] for block in message["content"] if block.get("type") == "text"]
    if message["role"] == "user":
        for text in texts:
            to_stderr(f"› {text}")
    else:
        for text in texts:
            show_markdown(text)
