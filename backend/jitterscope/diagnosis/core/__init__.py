"""What every area works with: snapshot, finding, cause, engine, statistics, wording. Knows no area."""
