"""The size of a schema with its references resolved, when arguments are checked. A schema may be
anybody's."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from gateway.tools.mcp import bounds

_REFERENCES = ("$ref", "$dynamicRef")
_ALL_OF = ("allOf", "anyOf", "oneOf")
_ONE_OF = ("not", "if", "then", "else")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


def check_references(root: dict[str, Any]) -> None:
    """Raises ValueError where a check of arguments could take for ever, or would have to fetch something."""
    if _Weight(root).of(root) > bounds.CHECKS:
        raise _too_many()
    _Cycles(root).refuse_multiplying()


class _Weight:
    """How many subschemas a check may come to. With references a small schema can stand for an endless
    one."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._known: dict[str, int] = {}

    def of(self, schema: Any) -> int:
        if isinstance(schema, list):
            return sum(self.of(each) for each in schema)
        if not isinstance(schema, dict):
            return 0
        weight = 1 + sum(self.of(value) for value in schema.values())
        return weight + sum(self._of_target(reference) for reference in _references(schema))

    def _of_target(self, reference: str) -> int:
        if reference not in self._known:
            self._known[reference] = 1  # where it refers to itself, `_Cycles` looks at it
            self._known[reference] = self.of(_target(self._root, reference))
        return self._known[reference]


class _Step(NamedTuple):
    """From a value to one in it: to the property or item `name`, or (None) to all but those in `besides`."""

    kind: str
    name: str | int | None
    besides: frozenset[str | int]
    to: Any


class _Cycles:
    """The ways of a check from value to value within it. Where two lead from a schema to the same value and
    back to that schema, each level of the arguments doubles the work."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._budget = bounds.CHECKS
        self._steps: dict[int, list[_Step]] = {}  # by the id of a schema, which `root` keeps alive
        self._walk()

    def refuse_multiplying(self) -> None:
        circle = self._circles()
        for schema, steps in self._steps.items():
            if _meet([step for step in steps if circle[id(step.to)] == circle[schema]]):
                raise ValueError(
                    "its schema refers to itself in more than one alternative: to check arguments could take "
                    "for ever"
                )

    def _walk(self) -> None:
        found: list[Any] = [self._landed(self._root)]
        while found:
            schema = found.pop()
            if id(schema) not in self._steps:
                self._steps[id(schema)] = list(self._steps_from(schema, ()))
                found += [step.to for step in self._steps[id(schema)]]

    def _steps_from(self, schema: dict[str, Any], within: tuple[int, ...]) -> Iterator[_Step]:
        """The steps of a schema and of all that is checked at the same value, as often as they are taken."""
        self._budget -= 1
        if self._budget < 0:
            raise _too_many()
        if id(schema) in within:
            raise RecursionError
        for step in _own_steps(schema):
            if isinstance(step.to, dict):
                yield step._replace(to=self._landed(step.to))
        parts = [_target(self._root, reference) for reference in _references(schema)]
        parts += [part for key in _ALL_OF if isinstance(schema.get(key), list) for part in schema[key]]
        parts += [schema[key] for key in _ONE_OF if key in schema]
        dependent = schema.get("dependentSchemas")
        parts += dependent.values() if isinstance(dependent, dict) else ()
        # To know what nothing else has looked at, the parts are checked again.
        for part in parts * (2 if any(key in schema for key in _UNEVALUATED) else 1):
            if isinstance(part, dict):
                yield from self._steps_from(part, (*within, id(schema)))

    def _landed(self, schema: dict[str, Any]) -> Any:
        """Where a schema that only refers leads to, so that one place is looked at once."""
        seen: set[int] = set()
        while set(schema) == {"$ref"} and id(schema) not in seen:
            seen.add(id(schema))
            target = _target(self._root, schema["$ref"])
            if not isinstance(target, dict):
                break
            schema = target
        return schema

    def _circles(self) -> dict[int, int]:
        """For each schema a number that it shares with those it leads to and that lead back to it.
        (Kosaraju's algorithm)"""
        onward = {schema: [id(step.to) for step in steps] for schema, steps in self._steps.items()}
        back: defaultdict[int, list[int]] = defaultdict(list)
        for schema, nexts in onward.items():
            for each in nexts:
                back[each].append(schema)
        circle: dict[int, int] = {}
        for start in reversed(_finished(onward)):
            found = [start]
            while found:
                schema = found.pop()
                if schema not in circle:
                    circle[schema] = start
                    found += back[schema]
        return circle


def _finished(onward: dict[int, list[int]]) -> list[int]:
    """The schemas in the order in which a search in depth is done with them."""
    order: list[int] = []
    seen: set[int] = set()
    path: list[tuple[int, Iterator[int]]] = [(0, iter(onward))]  # no schema, but it leads to all of them
    while path:
        following = next((each for each in path[-1][1] if each not in seen), None)
        if following is None:
            order.append(path.pop()[0])
        else:
            seen.add(following)
            path.append((following, iter(onward[following])))
    return order[:-1]


def _own_steps(schema: dict[str, Any]) -> Iterator[_Step]:
    properties, first = schema.get("properties"), schema.get("prefixItems")
    named: dict[str | int, Any] = {**properties} if isinstance(properties, dict) else {}
    placed: dict[str | int, Any] = dict(enumerate(first)) if isinstance(first, list) else {}
    for kind, known, others in (
        ("object", named, ("additionalProperties", "unevaluatedProperties")),
        ("array", placed, ("items", "unevaluatedItems")),
    ):
        yield from (_Step(kind, name, frozenset(), to) for name, to in known.items())
        besides = frozenset(known)
        yield from (_Step(kind, None, besides, schema[key]) for key in others if key in schema)
    if "contains" in schema:
        yield _Step("array", None, frozenset(), schema["contains"])


def _meet(steps: list[_Step]) -> bool:
    """Whether two of the steps lead to the same value."""
    names = Counter((step.kind, step.name) for step in steps)
    return any(number > 1 for number in names.values()) or any(
        name is not None and kind == step.kind and name not in step.besides
        for step in steps
        if step.name is None
        for kind, name in names
    )


def _references(schema: dict[str, Any]) -> list[str]:
    return [schema[key] for key in _REFERENCES if isinstance(schema.get(key), str)]


def _target(root: dict[str, Any], reference: str) -> Any:
    if not (reference == "#" or reference.startswith("#/")):
        # To be followed it would have to be fetched, from an address that the server chooses.
        raise ValueError(f"its schema refers to {reference[:100]!r}, which is not a part of it")
    target: Any = root
    for step in reference[2:].split("/") if len(reference) > 1 else ():
        name = step.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, dict) else None
    if not isinstance(target, dict | bool):
        raise ValueError(f"its schema refers to {reference[:100]!r}, which is not a part of it")
    return target


def _too_many() -> ValueError:
    return ValueError(f"its references come to more than {bounds.CHECKS} schemas")
