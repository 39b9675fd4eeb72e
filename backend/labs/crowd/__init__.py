"""The accept-queue lab: a service to which more connections come at once than may wait for it."""
