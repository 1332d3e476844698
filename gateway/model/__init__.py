"""The model: one protocol, its implementation, and the prices."""
