"""The whole fleet at a glance: every container by its worst 100 ms, whose answers are timed, and what was changed."""
