"""The events of a turn: a closed union, one small file per family."""
