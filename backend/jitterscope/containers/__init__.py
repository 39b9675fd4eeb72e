"""Containers of a window: how long each was throttled, its worst tick, and its peaks."""
