"""`gateway chat`: a conversation in the terminal, over the same HTTP API as every other client."""

import sys
from typing import Annotated, Literal

import typer

from gateway.cli.options import LOCAL_URL, Key, Url
from gateway.cli.session_commands import known_sessions


def chat(  # noqa: PLR0917 - each is given by its name, the message aside
    message: Annotated[
        str | None,
        typer.Argument(help="One question, and what is on stdin below it; without both, a conversation."),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume",
            "-r",
            "--session",
            metavar="SESSION",
            help="Go on with this session: its id, or how that begins.",
            autocompletion=known_sessions,
        ),
    ] = None,
    last: Annotated[
        bool, typer.Option("--continue", "-c", help="Go on with the session that was used last.")
    ] = False,
    model: Annotated[str | None, typer.Option(help="One of the models that the gateway allows.")] = None,
    print_: Annotated[
        bool,
        typer.Option(
            "--print",
            "-p",
            help="For scripts: print the answer alone, in one of the forms of claude --print.",
        ),
    ] = False,
    output_format: Annotated[
        Literal["text", "json", "stream-json"],
        typer.Option(help="What --print prints: the answer, one JSON object, or one for each message."),
    ] = "text",
    allowed_tools: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-tools",
            "--allowedTools",
            metavar="TOOLS",
            help="With --print: tools to approve, with commas or blanks between; mcp__files__* is a glob.",
        ),
    ] = None,
    instructions: Annotated[
        str | None,
        typer.Option("--append-system-prompt", help="With --print: instructions beside the prompt."),
    ] = None,
    url: Url = LOCAL_URL,
    key: Key = None,
    raw: Annotated[bool, typer.Option("--json", help="Print the events as they are, one a line.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", hidden=True)] = False,
) -> None:
    """Chat with a running gateway. Ctrl-C stops the answer, on the server too."""
    if resume is not None and last:
        raise typer.BadParameter("Give --resume or --continue, not both.")
    if not print_ and (output_format != "text" or allowed_tools or instructions):
        raise typer.BadParameter(
            "--output-format, --allowed-tools and --append-system-prompt go with --print."
        )
    import asyncio

    from gateway.cli.chat.chat_session import ChatSession, asked
    from gateway.client import AsyncGatewayClient, GatewayClient

    question = asked(message)
    if not question and (print_ or not sys.stdin or not sys.stdin.isatty()):
        raise typer.BadParameter("A message is needed, as an argument or on stdin.")
    session = None
    if resume is not None or last:
        from gateway.cli.session_commands import find_session, last_session

        with GatewayClient(url, key) as client:
            session = find_session(client, resume) if resume is not None else last_session(client)

    async def talk() -> int:
        async with AsyncGatewayClient(url, key) as client:
            if print_:
                from gateway.cli.chat.printed import print_answer, tools_of

                wanted = {"model": model, "instructions": instructions}
                return await print_answer(
                    client,
                    session,
                    question,
                    form=output_format,
                    allowed_tools=tools_of(allowed_tools or ()),
                    options=wanted,
                )
            conversation = ChatSession(client, session, model, raw=raw)
            if question:
                return await conversation.ask(question)
            if raw or not sys.stdout.isatty():
                return await conversation.ask_each(sys.stdin)
            from gateway.cli.chat.dialogue import hold_dialogue

            return await hold_dialogue(conversation)

    sys.exit(asyncio.run(talk()))
