"""The environment variables of settings."""

import os
from typing import get_origin

from pydantic.fields import FieldInfo

from gateway.settings import Settings
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
        and name.upper() not in OTHERS
        and not any(sets(name.upper(), *each) for each in Settings.model_fields.items())
    )


def sets(variable: str, name: str, field: FieldInfo) -> bool:
    """Whether an environment variable, in capitals, holds the setting, or a part of it after `__`."""
    names = variables_of(name, field)
    return variable in names or (
        get_origin(field.annotation) is dict and variable.startswith(tuple(f"{each}__" for each in names))
    )
