"""Events: how they are packed, what waits to be in the log, who hears of it."""
