"""Lists of Explore as members saved them: a name, the page, and its URL parameters; for oneself or for all."""
