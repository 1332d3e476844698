"""Who shares a household, by the settings."""

from gateway.settings import Settings


def housemates_of(settings: Settings, user_id: str) -> frozenset[str]:
    """The user, and the members of their households."""
    shared = {each for name in households_of(settings, user_id) for each in settings.households[name]}
    return frozenset({user_id, *shared})


def households_of(settings: Settings, user_id: str) -> tuple[str, ...]:
    """The households of which the user is a member."""
    return tuple(sorted(name for name, members in settings.households.items() if user_id in members))
