"""The text of a new SKILL.md: valid, and with advice in the places for its author's text."""

import unicodedata

from gateway.skills.definition import name_problem

_TEXT = """\
---
name: {name}
description: Does {words} the way we do it here. Use it when somebody asks for {words}.
---

# {title}

## When to use

- Somebody asks for {words}, in these or other words. List the words that people really use, in every language
  they write.
- The task has steps that are easily forgotten, or rules that only your organisation has.

Say as well when not to use it, so that it is not read for nothing: for a question that one sentence answers.

## Steps

1. Find out what is missing. Ask one question when the answer changes what you do; otherwise say what you
   assume.
2. Look up what can be looked up, and name the tool for it: `search_docs` for this gateway, `current_time` for
   the date.
3. Do one thing in each step, beginning with a verb. Say what the result must look like before the next step
   begins.
4. Check the result against the request: numbers with their units, names as they were given, dates in full.
5. Answer with the result first, then what it rests on, then what is left to decide.

## Cautions

- Say what cannot be undone, costs money or reaches other people, and ask before that step.
- Say what to do when a tool fails or a fact is missing: tell the person, and do not make one up.
- Keep this file under 500 lines. Longer material goes to `references/`, one topic in each file, and is named
  in the step that needs it.
"""


def template(name: str) -> str:
    """A SKILL.md that is strictly valid in a folder called `name`. Its author should write the description
    first: it is all that the model knows of a skill before it reads it.

    Raises:
        ValueError: `name` cannot be a skill's name; the message has the reason.
    """
    name = unicodedata.normalize("NFKC", name)
    if fault := name_problem(name):
        raise ValueError(f"a skill's name {fault}")
    words = name.replace("-", " ")
    return _TEXT.format(name=name, words=words, title=words[:1].upper() + words[1:])
