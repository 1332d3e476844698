"""The certificates that those of other servers are checked against: the system's, or those that the standard
variables SSL_CERT_FILE and SSL_CERT_DIR name (openssl-env(7)), such as a company's."""

import os
import ssl
from pathlib import Path

from gateway.errors import SettingsError

VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The first that is set counts, as httpx2 has it."""


def certificates_named() -> ssl.SSLContext | None:
    """Those that a variable names; None where none is set. Raises SettingsError, with the path."""
    name = next((each for each in VARIABLES if os.environ.get(each)), None)
    if name is None:
        return None
    path = os.environ[name]
    try:
        if name == "SSL_CERT_DIR":
            if not Path(path).is_dir():
                raise SettingsError(f"{name} names {path}, and there is no such folder.")
            return ssl.create_default_context(capath=path)
        return ssl.create_default_context(cafile=path)
    except FileNotFoundError:
        raise SettingsError(f"{name} names {path}, and there is no such file.") from None
    except OSError as error:  # an ssl.SSLError is one
        raise SettingsError(f"{name} names {path}, which has no certificates in PEM: {error}") from None
