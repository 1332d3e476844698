"""Settings from all sources, and what is wrong with them in plain words."""

import os
import re
from json import JSONDecodeError
from typing import Any

from pydantic import AliasChoices, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError as UnreadableSetting

from gateway.errors import SettingsError, plain_words
from gateway.settings.settings_table import Settings, config_file


def load_settings(**given: Any) -> Settings:
    """Settings from all sources; `given` (command line, tests) wins.

    Raises:
        SettingsError: a value is wrong, a name is unknown, or the file that GATEWAY_CONFIG names is not
            there; the message names it.
    """
    if os.environ.get("GATEWAY_CONFIG") and not config_file().is_file():
        raise SettingsError(f"GATEWAY_CONFIG is {config_file()}, and there is no such file.")
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        lines = [
            f"  {_name_of(each['loc'])}: {plain_words(each['type'], each['msg'], unknown='unknown setting')}"
            for each in error.errors()
        ]
        raise SettingsError("These settings are wrong:\n" + "\n".join(lines)) from None
    except UnreadableSetting as error:
        raise SettingsError(
            f"{_unreadable(error)}. Put objects in {{}} and names in double quotes."
        ) from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{config_file()} cannot be read: {error}") from None


def environment_name(name: str, field: FieldInfo) -> str:
    """The environment variable that sets the field `name`: the first where there are several."""
    return variables_of(name, field)[0]


def variables_of(name: str, field: FieldInfo) -> list[str]:
    """The environment variables that set the field `name`; of several the first that there is."""
    alias = field.validation_alias
    named = [str(each) for each in alias.choices] if isinstance(alias, AliasChoices) else []
    return named or [f"GATEWAY_{name.upper()}"]


def _name_of(location: tuple[int | str, ...]) -> str:
    """The setting, and where in it: GATEWAY_MCP_SERVERS.files.timeout."""
    first, *rest = (str(part) for part in location or ("?",))
    field = Settings.model_fields.get(first)
    return ".".join((environment_name(first, field) if field else first, *rest))


def _unreadable(error: UnreadableSetting) -> str:
    """Says which variable is not JSON, and where: nothing of its value, which may be a secret."""
    named = re.search(r'field "(\w+)"', str(error))
    name = _name_of((named[1],)) if named else "a variable"
    cause = error.__cause__
    where = f": {cause.msg} at character {cause.pos + 1}" if isinstance(cause, JSONDecodeError) else ""
    return f"The environment's {name} is not valid JSON{where}"
