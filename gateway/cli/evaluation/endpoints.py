"""The model that is asked, its endpoint, and the settings of the gateway that asks it."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from gateway import wiring
from gateway.cli.config import without_secrets
from gateway.errors import SettingsError
from gateway.model.endpoint_address import ANTHROPIC_URL, model_is_open
from gateway.settings import Settings

DEMO = "demo"
_NAMED = re.compile(r"(?P<model>.+?)@(?P<url>https?://[^#\s]+)(?:#(?P<variable>\w+))?")

APPROVAL_TIMEOUT = 1.0
"""Seconds: nobody is there to allow a call."""


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model where it is asked. Without `url` it is the configured endpoint, or the demo model."""

    model: str
    url: str | None = None
    key: SecretStr | None = None

    @property
    def is_demo(self) -> bool:
        return self.model == DEMO and self.url is None


def endpoint_of(named: str) -> ModelEndpoint:
    """The endpoint that MODEL, MODEL@URL or MODEL@URL#VARIABLE names; the variable of the environment holds
    the key. No key goes to a URL for which none was named.

    Raises:
        SettingsError: the variable is not set.
    """
    found = _NAMED.fullmatch(named)
    if found is None:
        return ModelEndpoint(named)
    key = os.environ.get(found["variable"]) if found["variable"] else None
    if found["variable"] and not key:
        raise SettingsError(f"{found['variable']}, which holds the key for {found['url']}, is not set.")
    return ModelEndpoint(found["model"], found["url"], SecretStr(key) if key else None)


def shown(endpoint: ModelEndpoint, settings: Settings) -> str:
    """Where a model is asked, without secrets."""
    if endpoint.is_demo:
        return "built in"
    return without_secrets(endpoint.url or settings.anthropic_base_url or ANTHROPIC_URL)


async def default_model(settings: Settings) -> str:
    """The model of the settings or, where they name none, the one that the endpoint lists."""
    if model_is_open(settings):
        model = wiring.open_model(settings)
        try:
            await model.inquire()
        finally:
            await model.close()
    return settings.model


def check_askable(endpoint: ModelEndpoint, settings: Settings) -> None:
    """Raises SettingsError: nothing is configured where it could be asked, or the memory is switched off."""
    if not settings.memory:
        raise SettingsError("GATEWAY_MEMORY is false: there is no memory to check a model with.")
    if not (endpoint.is_demo or endpoint.url or settings.has_model):
        raise SettingsError(
            f"No endpoint is configured for {endpoint.model}: set ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL, "
            f"or name one, {endpoint.model}@URL or {endpoint.model}@URL#VARIABLE_WITH_THE_KEY."
        )


def settings_for(
    endpoint: ModelEndpoint, settings: Settings, folder: Path, keys: str, turn_timeout: float
) -> Settings:
    """The operator's settings for this endpoint, with data in `folder` and the users of `keys`: what they say
    of models, prompts and memory holds; their data, skills, tools and documents are not touched."""
    changed: dict[str, object] = {
        "model": endpoint.model,
        "allowed_models": (),
        "data_dir": folder,
        "database_url": None,
        "blob_url": None,
        "skills_dir": folder / "skills",
        "user_skills_dir": None,
        "skill_modules": (),
        "mcp_servers": {},
        "documents_dir": folder / "documents",
        "http_fetch": False,
        "tool_policy": (),
        "approval_timeout": APPROVAL_TIMEOUT,
        "api_keys": SecretStr(keys),
        "admins": (),
        "households": {},
        "allowed_hosts": (),
        "memory_learning": "off",
        "retrieval_events": True,
        "turn_timeout": turn_timeout,
        "shutdown_grace": 0.0,
        "summary_after": None,
        "archive_after": None,
        "log_level": "error",
        "agent_name": "gateway eval",
    }
    if endpoint.url is not None:
        changed |= {
            "anthropic_base_url": endpoint.url,
            "anthropic_api_key": endpoint.key,
            "model_api_version": None,
            "model_auth": "auto",
            "context_window": None,
            "summary_model": None,
            "memory_model": None,
            "memory_control_model": None,
        }
    return settings.model_copy(update=changed)
