"""The model's edge: one protocol, one adapter, and the prices."""
