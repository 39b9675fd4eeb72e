"""Shared building blocks of all areas: snapshot, finding, cause, engine, statistics, wording. Knows no area."""
