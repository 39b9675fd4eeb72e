"""The whole fleet at a glance: every container by its worst 100 ms, and whose answers are timed."""
