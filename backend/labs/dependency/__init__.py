"""The slow-dependency lab: an HTTP service that asks a database, or another service, that is slow."""
