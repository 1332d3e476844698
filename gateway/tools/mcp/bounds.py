"""Limits of what a server may send. A server may be anybody's."""

MESSAGE = 8_388_608
"""Bytes of one message, such as the answer to a call."""
PARTS = 150_000
"""Objects, lists and values in one message: each takes up to a hundred times the memory of the characters it
is made of, and while so many are parsed, for up to 50 ms, nothing else of the process runs: the parser keeps
Python's lock."""
INLINE = 65_536
"""Bytes of a message, or characters of a result, that are read on the event loop: some milliseconds."""
READERS = 2
"""Larger ones that are read at the same time; others wait."""
DIGITS = 100
"""Digits in a row of which a large message is taken not to need the last ones: to write a number takes the
square of its length."""
DETAILS = 1000
"""Parts of what goes along unread: parameters of a notice, the data of an error."""
TOOLS = 256
"""Tools of one server; those that it lists later are left out."""
LISTED = 1024
"""Entries of a list, on all its pages, that are looked at."""
LIST = 4_194_304
"""Bytes of a list, on all its pages, that are looked at: far more than the schemas that may be offered."""
PAGES = 100
"""Pages of a list of tools that are asked for."""
PROMPTS = 100
"""Prompts of one server; those that it lists later are left out."""
PROMPT_ARGUMENTS = 20
"""Of one prompt."""
PROMPT_MESSAGES = 100
"""Of one prompt that is filled in."""
PROMPT_TEXT = 32_768
"""Characters of a prompt that is filled in: as many as one that a person saves may have."""
PROMPT_WAIT = 30.0
"""Seconds for an answer about prompts: a person waits for it."""
NAME = 200
"""Characters of the name of a prompt, or of what is filled in."""
DESCRIPTION = 2000
"""Characters of a tool's description."""
SCHEMA = 65_536
"""Bytes of a tool's schema."""
WITH_HEADERS = 32
"""Tools of a list that ask for parameters as headers."""
OBJECTS = 2000
"""Objects in a tool's schema: most are schemas themselves, and to look at one takes 0.2 ms. A large API's
tool has some hundred."""
SCHEMAS = 524_288
"""Bytes of all schemas of a server: each model call carries them."""
CHECKS = 20_000
"""Subschemas that a schema comes to once every reference is written out."""
STRANGE_LINES = 100
"""Lines in a row on a program's standard output that are no messages."""
STDERR_LINES = 1000
"""Lines of a program's standard error that are logged."""
LINE = 500
"""Characters of such a line, and of anything else from a server that is logged."""
CONTENT = 1000
"""Parts of a result that are looked at one by one: what is wrong with one takes 15 microseconds to find."""
COMPARED = 200
"""Values of a structured result that are looked for in the text beside it."""
STRUCTURED = 262_144
"""Characters of a structured result that is told beside a text, and of a text that it is looked for in."""
TRIES = 50
"""Places of a text where a number of a structured result is looked for: it may stand within longer ones."""
ASKED = 1000
"""Requests to a program whose answers are awaited, as far as an error without an id may be meant for them."""
