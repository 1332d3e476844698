"""The knowledge keeper: what a conversation or a tool holds that is worth remembering, checked before it is
kept."""
