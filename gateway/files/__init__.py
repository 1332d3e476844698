"""Files: those that people edit while the gateway runs, read safely and looked at again; their disk."""
