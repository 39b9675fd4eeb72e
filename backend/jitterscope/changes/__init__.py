"""What was changed and when, as pipelines report it and as the history of facts shows it, in one list."""
