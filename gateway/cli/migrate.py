"""`gateway migrate`: the database to the newest schema."""


def migrate() -> None:
    """Bring the database to the newest schema. The server must not be running."""
    import asyncio

    from gateway import wiring
    from gateway.settings import load_settings

    settings = load_settings()
    before, after = asyncio.run(wiring.migrate(settings))
    if before == after:
        print(f"{settings.database_path} is at {after} already: nothing to do.")
    else:
        print(f"{settings.database_path}: {before or 'empty'} -> {after}")
