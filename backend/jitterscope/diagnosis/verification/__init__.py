"""Did a change help? Blocks of recorded time before and after it, compared by tests that hold for few blocks."""
