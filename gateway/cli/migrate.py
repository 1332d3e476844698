"""`gateway migrate`: the databases to the newest schema."""


def migrate() -> None:
    """Bring the databases to the newest schema. The server must not be running."""
    from gateway.settings import load_settings
    from gateway.storage import migrations

    settings = load_settings()
    for path, bring in (
        (settings.database_path, migrations.migrate),
        (settings.memory_path, migrations.migrate_memories),
    ):
        before, after = bring(path)
        if before == after:
            print(f"{path} is at {after} already: nothing to do.")
        else:
            print(f"{path}: {before or 'empty'} -> {after}")
