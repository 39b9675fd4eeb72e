"""Charts: series of a resource within a budget of points, events, and how long series are kept."""
