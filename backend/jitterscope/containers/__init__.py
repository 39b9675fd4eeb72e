"""Containers of a window: what each was throttled, its worst tick and its peaks."""
