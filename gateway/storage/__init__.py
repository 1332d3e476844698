"""Where everything is kept: the event log, sessions, turns and messages, behind protocols."""
