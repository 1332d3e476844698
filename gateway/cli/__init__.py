"""The `gateway` command: one file per command. Nothing heavy is imported before a command runs."""

import atexit
import gc
import sys
from typing import NoReturn

COLLECT_AFTER = 500_000
"""New objects until the garbage collection looks at them (`gc.set_threshold`): what is loaded stays, some
100,000 of them, and with Python's 700 a fifth of what a short command takes went into looking for it. Servers
set their own."""


def main() -> NoReturn:
    """The console entry.

    Exit codes: 0 done, 1 a failure, 2 a wrong setting or argument, 130 stopped by Ctrl-C, 141 nobody reads
    what it prints any more. A failure is one message on stderr.
    """
    import os

    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)  # else all that is left is looked at once more before the process ends
    from gateway.cli.command_tree import command_tree
    from gateway.errors import GatewayError, SettingsError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal of another encoding gets a ? for what it cannot show
            stream.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType,reportAttributeAccessIssue]
    app = command_tree()
    if "_GATEWAY_COMPLETE" in os.environ:
        from typer.completion import completion_init  # pyright: ignore[reportPrivateImportUsage]

        completion_init()
    try:
        app(prog_name="gateway")
    except SettingsError as error:
        _leave(error, 2)
    except GatewayError as error:
        _leave(error, 1)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


def _leave(error: Exception, code: int) -> NoReturn:
    from gateway.session_pages.words import printable

    print(printable(f"gateway: {error}"), file=sys.stderr)
    sys.exit(code)
