"""The whole fleet at a glance: every container by its worst 100 ms, and which ones have their answers timed."""
