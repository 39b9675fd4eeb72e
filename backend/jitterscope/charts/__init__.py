"""Charts: series of a resource within a budget of points, events, and the retention of series."""
