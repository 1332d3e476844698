"""`gateway migrate`: the database to the newest schema."""


def migrate() -> None:
    """Bring the database to the newest schema. The server must not be running."""
    from gateway.settings import load_settings
    from gateway.storage import migrations

    path = load_settings().database_path
    before, after = migrations.migrate(path)
    if before == after:
        print(f"{path} is at {after} already: nothing to do.")
    else:
        print(f"{path}: {before or 'empty'} -> {after}")
