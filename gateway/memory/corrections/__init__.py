"""Correcting what is remembered and making one memory of several, with what follows for others."""
