"""Knowledge about software: versions, settings files, limits of well-known services; each with its source."""
