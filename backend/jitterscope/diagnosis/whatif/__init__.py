"""Models that replay recorded demand under other settings."""
