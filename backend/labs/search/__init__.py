"""The search-domains lab: pods whose resolver tries every search domain before the intended name."""
