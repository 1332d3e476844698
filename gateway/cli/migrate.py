"""`gateway migrate`: the databases to the newest schema."""


def migrate() -> None:
    """Bring the databases to the newest schema. With SQLite the server must not be running; with PostgreSQL
    gateways of this version and of the one before may."""
    from gateway.settings import load_settings
    from gateway.wiring.migrating import migrate_databases

    for what, before, after in migrate_databases(load_settings()):
        if before == after:
            print(f"{what} is at {after} already: nothing to do.")
        else:
            print(f"{what}: {before or 'empty'} -> {after}")
