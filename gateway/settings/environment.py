"""The environment variables of settings."""

import os
import tomllib
from typing import get_origin

from pydantic.fields import FieldInfo

from gateway.settings import Settings, config_file
from gateway.settings.former_settings import WITHOUT_EFFECT
from gateway.settings.loader import variables_of

OTHERS = frozenset({"GATEWAY_CONFIG", "GATEWAY_URL", "GATEWAY_KEY"})
"""What commands read, and no setting is."""


def unknown_variables() -> list[str]:
    """Variables that look like settings and are none: most often a slip of the pen."""
    return sorted(
        name
        for name in os.environ
        if name.upper().startswith("GATEWAY_")
        and not name.upper().startswith("GATEWAY_TEST_")
        and name.upper() not in OTHERS | WITHOUT_EFFECT.keys()
        and not any(sets(name.upper(), *each) for each in Settings.model_fields.items())
    )


def without_effect() -> list[str]:
    """A sentence for each setting of an earlier version that the environment or the settings file still has.
    The file must be readable: `load_settings` checks that."""
    given = {name.upper() for name in os.environ}
    if (file := config_file()).is_file():
        given |= {f"GATEWAY_{name.upper()}" for name in tomllib.loads(file.read_text())}
    return [f"{name} has no effect any more: {now}." for name, now in WITHOUT_EFFECT.items() if name in given]


def sets(variable: str, name: str, field: FieldInfo) -> bool:
    """Whether an environment variable, in capitals, holds the setting, or a part of it after `__`."""
    names = variables_of(name, field)
    return variable in names or (
        get_origin(field.annotation) is dict and variable.startswith(tuple(f"{each}__" for each in names))
    )
