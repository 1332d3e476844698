"""Writes what the code says into docs/command-line.md, docs/events.md, docs/api.md, docs/settings.md,
docs/observability.md, docs/security.md and .env.example, and what README says of each page into llms.txt.

The pages are written by hand down to the line that names their source; the rest is generated. With
--check nothing is written: it exits 1 and shows the difference where a page is stale.
"""

import difflib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import orjson
from command_reference import commands
from event_words import CODES, EXAMPLES
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateway.adapters.adapter import switched_on
from gateway.api.url_table import ENDPOINTS
from gateway.auth.operations import OPERATIONS
from gateway.events.contract import EVENT, event_types, json_schema
from gateway.events.envelope import encode, encode_scope
from gateway.events.lifecycle import ErrorCode
from gateway.http.endpoint import Answer, Endpoint
from gateway.settings import Settings, environment_name
from gateway.settings.value_types import ADAPTERS
from gateway.telemetry.metrics.exposition import family_of, prometheus_name
from gateway.telemetry.metrics.instrument_table import INSTRUMENTS

ROOT = Path(__file__).resolve().parents[1]
DIFFERENCE_SHOWN = 20
"""Lines of a stale page's difference that are shown."""

Schema = dict[str, Any]


def events() -> str:
    """The event contract: every type with its fields and an example, and the in-stream error codes."""
    schema = json_schema()
    definitions: dict[str, Schema] = schema["$defs"]
    parts = ["## Envelope", _envelope(definitions)]
    parts += ["## Types", _contents(event_types(), definitions)]
    parts += [_event_section(name, number, definitions) for number, name in enumerate(event_types(), start=1)]
    parts += ["## Shared shapes"]
    shared = (
        "AttachedFile",
        "FileReading",
        "Covered",
        "MemoryWriteSuggestion",
        "Omission",
        "RetrievalHit",
        "StepTrace",
        "Usage",
    )
    parts += [f"### {name}\n\n{_described(definitions[name])}" for name in shared]
    parts += ["## Error codes in the stream", _codes()]
    return "\n\n".join(parts) + "\n"


def api() -> str:
    """Every route with what it takes and answers, and every answer with its fields."""
    rows = [f"| {each.method} | `{each.path}` | {each.summary} |" for each in ENDPOINTS]
    parts = ["## Routes", "\n".join(["| method | path | does |", "|---|---|---|", *rows])]
    parts += [_route(each) for each in ENDPOINTS if each.body or each.query or each.upload or _models(each)]
    inside = _inside_bodies()
    parts += ["## Inside of bodies", *(f"### {name}\n\n{inside[name]}" for name in sorted(inside))]
    parts += [
        "## Answers",
        "A field without a value is left out, so one that is not always there may be absent.",
    ]
    definitions = _answer_definitions()
    parts += [f"### {name}\n\n{_answer(definitions[name])}" for name in sorted(definitions)]
    return "\n\n".join(parts) + "\n"


def operations() -> str:
    """Every operation with what it needs, and by which doors it is carried out."""
    adapters = switched_on(ADAPTERS).values()
    rows = [*ENDPOINTS, *(each for adapter in adapters for each in adapter.endpoints)]
    table = ["| operation | needs | in the audit | doors |", "|---|---|---|---|"]
    for name, each in sorted(OPERATIONS.items()):
        needs = "open" if each.is_open else f"`{each.needs}`" if each.needs is not None else "any"
        more = ", operator" if each.is_operators else ""
        action = f"`{each.action}`" if each.action is not None else ""
        doors = [row for row in rows if name in (row.operation, *row.carries)]
        shown = ", ".join(f"`{row.method} {row.template}`" for row in doors)
        table.append(f"| `{name}` | {needs}{more} | {action} | {shown} |")
    return "\n".join(table) + "\n"


def settings() -> str:
    """Every setting with its variable, default and meaning, in the groups of the Settings class."""
    parts: list[str] = []
    for group, names in _settings_groups():
        rows = [f"| `{_variable(name)}` | {_shown_default(name)} | {_meaning(name)} |" for name in names]
        parts.append("\n".join([f"## {group}\n", "| variable | default | meaning |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def metrics() -> str:
    """Every metric with its name in Prometheus and in OpenTelemetry."""
    rows = list[str]()
    for each in sorted(INSTRUMENTS):
        if not each.former:
            kind = "gauge" if each.kind == "up_down_counter" else each.kind
            family = family_of(each.name, each.unit, each.description, kind).name
            name = f"{family}_total" if kind == "counter" else family
            labels = ", ".join(f"`{prometheus_name(label)}`" for label in each.labels)
            rows.append(
                f"| `{name}` | {kind} | {each.description} | {labels} | `{each.name}` | `{each.unit}` |"
            )
    head = ["| in Prometheus | type | says | labels | in OpenTelemetry | unit |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def environment_example() -> str:
    """A file to copy to .env for Docker Compose: every variable, commented out, with its default."""
    parts = [
        "# For Docker Compose: copy to .env and uncomment what you change. Nothing else reads .env: without\n"
        "# a container export the variables, or write gateway.toml. What each means: docs/settings.md."
    ]
    for group, names in _settings_groups():
        lines = [f"#{_variable(name)}={_plain_default(name)}" for name in names]
        parts.append("\n".join([f"# {group}", *lines]))
    return "\n\n".join(parts) + "\n"


def index() -> str:
    """An index of the documents for language models (llmstxt.org): what README says of itself and of each
    page, and the Chinese pages. README must name every page."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    title, summary = re.findall(r"\A# (.+)\n\n(.+?[.]) ", readme)[0]
    rows = re.findall(r"^\| \[\S+\]\((\S+\.md)\) \| (.+) \|$", readme, re.MULTILINE)
    pages = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
    if missing := set(pages) - {name for name, _ in rows}:
        sys.exit(f"README.md does not say what these pages are about: {', '.join(sorted(missing))}")
    says = [f"- [{_title(name)}]({name}): {what}" for name, what in rows if "/zh/" not in name]
    chinese = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "zh").glob("*.md"))
    parts = [f"# {title}", f"> {summary}", "## Docs", "\n".join(says), "## Optional"]
    return "\n\n".join([*parts, "\n".join(f"- [{_title(name)}]({name})" for name in chinese)]) + "\n"


def _title(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


PAGES: dict[str, Callable[[str], str]] = {
    "docs/command-line.md": lambda found: _by_hand(found, "gateway/cli/") + commands(),
    "docs/events.md": lambda found: _by_hand(found, "gateway/events/") + events(),
    "docs/api.md": lambda found: _by_hand(found, "gateway/api/") + api(),
    "docs/settings.md": lambda found: _by_hand(found, "gateway/settings/settings_table.py") + settings(),
    "docs/observability.md": lambda found: _by_hand(found, "gateway/telemetry/") + metrics(),
    "docs/security.md": lambda found: _by_hand(found, "gateway/auth/operations.py") + operations(),
    ".env.example": lambda found: environment_example(),
    "llms.txt": lambda found: index(),
}


def _by_hand(found: str, source: str) -> str:
    line = f"<!-- What follows is generated from {source} by `make docs`: edit there. -->"
    return f"{found.partition(line)[0].strip()}\n\n{line}\n\n"


def _envelope(definitions: dict[str, Schema]) -> str:
    fields = definitions["TextEvent"]
    without_data = {name: field for name, field in fields["properties"].items() if name != "data"}
    without_data["type"] = {"type": "string", "description": "One of the types below."}
    return _fields({**fields, "properties": without_data})


def _contents(names: list[str], definitions: dict[str, Schema]) -> str:
    rows = [f"| [{name}](#{name}) | {_first_sentence(_data_of(name, definitions))} |" for name in names]
    return "\n".join(["| type | says |", "|---|---|", *rows])


def _event_section(name: str, seq: int, definitions: dict[str, Schema]) -> str:
    return f"### {name}\n\n{_described(_data_of(name, definitions))}\n\n{_example(name, seq)}"


def _data_of(name: str, definitions: dict[str, Schema]) -> Schema:
    by_type = {d["properties"]["type"]["const"]: d for d in definitions.values() if "data" in d["properties"]}
    return definitions[by_type[name]["properties"]["data"]["$ref"].rsplit("/")[-1]]


def _described(definition: Schema) -> str:
    return f"{' '.join(definition['description'].split())}\n\n{_fields(definition)}"


def _first_sentence(definition: Schema) -> str:
    return re.split(r"(?<=\.)\s|:\s", " ".join(definition["description"].split()))[0].rstrip(".:")


def _fields(definition: Schema, needed: str = "always there") -> str:
    required = definition.get("required", [])
    rows = [
        f"| `{name.rstrip('_')}` | {_type(field)} | {_yes(name in required)} "
        f"| {field.get('description', '')} |"
        for name, field in definition["properties"].items()
    ]
    return "\n".join([f"| field | type | {needed} | meaning |", "|---|---|---|---|", *rows])


def _yes(always: bool) -> str:
    return "yes" if always else "no"


def _type(field: Schema) -> str:
    if "$ref" in field:
        return _link(field["$ref"].rsplit("/")[-1])
    if "anyOf" in field:
        types = dict.fromkeys(_type(choice) for choice in field["anyOf"] if choice != {"type": "null"})
        return " or ".join(each for each in types if each != "``" or "string" not in types)
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{choice}`" for choice in field["enum"])
    if field.get("type") == "array":
        return f"array of {_type(field['items'])}"
    return field.get("type", "any JSON value")


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _example(name: str, seq: int) -> str:
    example = EXAMPLES[name]
    scope = encode_scope("s_7f3a", "t_91c2")
    places = (example.get("iteration"), example.get("tool_call_id"))
    body = encode(seq, name, 1795187109422 + seq * 40, scope, orjson.dumps(example["data"]), *places)
    EVENT.validate_json(body)
    return f"```\nid: {seq}\nevent: {name}\ndata: {body.decode()}\n```"


def _codes() -> str:
    if unexplained := set(get_args(ErrorCode)) ^ set(CODES):
        sys.exit(f"docs/event_words.py and gateway/events/lifecycle.py disagree about {sorted(unexplained)}")
    return "\n".join(["| code | means |", "|---|---|", *(f"| `{code}` | {CODES[code]} |" for code in CODES)])


def _route(each: Endpoint) -> str:
    taken = [
        f"{title}:\n\n{_fields(model.model_json_schema(by_alias=False), needed='required')}"
        for title, model in (("Body", each.body), ("Query", each.query))
        if model is not None
    ]
    answers = ", ".join(f"{status} {_answers(models)}".strip() for status, models in each.answers.items())
    refusals = ", ".join(map(str, each.all_refusals))
    ends = f"Answers: {answers}." + (f" Refusals: {refusals}." if refusals else "")
    return "\n\n".join([f"### {each.method} {each.path}", each.summary, *taken, ends])


def _answers(models: tuple[Answer, ...]) -> str:
    names = [each if isinstance(each, str) else _link(each.__name__) for each in models if each is not None]
    return f"({' or '.join(names)})" if names else ""


def _models(each: Endpoint) -> set[type[BaseModel]]:
    """The JSON that a route answers with."""
    return {answer for models in each.answers.values() for answer in models if isinstance(answer, type)}


def _inside_bodies() -> dict[str, str]:
    """What is inside of a body, by name."""
    schemas = [each.body.model_json_schema(by_alias=False) for each in ENDPOINTS if each.body is not None]
    found = {name: part for schema in schemas for name, part in schema.get("$defs", {}).items()}
    return {
        name: "\n\n".join(filter(None, (part.get("description"), _fields(part, needed="required"))))
        for name, part in found.items()
    }


def _answer_definitions() -> dict[str, Schema]:
    """Every answer and what is inside of one, by name."""
    models = {model for each in ENDPOINTS for model in _models(each)}
    _, schema = models_json_schema([(model, "serialization") for model in models], by_alias=False)
    return schema["$defs"]


def _answer(definition: Schema) -> str:
    # Only None is left out: a field that has another default is always there.
    fields = definition["properties"].items()
    sent = [name for name, field in fields if field.get("default", ...) is not None]
    text = " ".join(definition.get("description", "").split())
    return f"{text}\n\n{_fields({**definition, 'required': sent})}".strip()


def _settings_groups() -> Iterator[tuple[str, list[str]]]:
    """The comments of the Settings class and the settings that follow each."""
    group, names = "", list[str]()
    for line in inspect.getsource(Settings).splitlines():
        if comment := re.fullmatch(r"    # (.+)", line):
            if names:
                yield group, names
            group, names = comment[1], []
        elif (field := re.match(r"    (\w+): ", line)) and field[1] in Settings.model_fields:
            names.append(field[1])
    yield group, names


def _variable(name: str) -> str:
    return environment_name(name, Settings.model_fields[name])


def _plain_default(name: str) -> str:
    default = Settings.model_fields[name].default
    if default is None or default == () or hasattr(default, "get_secret_value"):
        return ""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return json.dumps(default) if isinstance(default, bool) else str(default)


def _shown_default(name: str) -> str:
    return f"`{_plain_default(name)}`" if _plain_default(name) else "none"


def _meaning(name: str) -> str:
    field = Settings.model_fields[name]
    choices = ", ".join(f"`{choice}`" for choice in get_args(field.annotation) if isinstance(choice, str))
    return f"{field.description} One of {choices}." if choices else str(field.description)


def main(arguments: list[str]) -> int:
    """Writes or checks every page; returns the exit code."""
    stale = False
    for name, write in PAGES.items():
        path = ROOT / name
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        fresh = write(found)
        if found == fresh:
            continue
        if "--check" not in arguments:
            path.write_text(fresh, encoding="utf-8")
            print(f"wrote {name}")
            continue
        stale = True
        print(f"{name} is stale; `make docs` writes it:")
        lines = difflib.unified_diff(
            found.splitlines(), fresh.splitlines(), "there", "should be", "", "", 0, ""
        )
        print("\n".join(f"  {line}" for line in list(lines)[:DIFFERENCE_SHOWN]))
    return int(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
