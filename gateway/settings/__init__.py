"""One frozen Settings, from environment > gateway.toml > defaults.

Every setting is `GATEWAY_<NAME>` in the environment and `<name>` in `gateway.toml` (in the working directory,
or where GATEWAY_CONFIG points). The Anthropic variables keep the names their SDK made known.
"""

from gateway.settings.agreement import digests
from gateway.settings.loader import environment_name, load_settings
from gateway.settings.settings_table import LOOPBACK_HOSTS, Settings, config_file

__all__ = ["LOOPBACK_HOSTS", "Settings", "config_file", "digests", "environment_name", "load_settings"]
