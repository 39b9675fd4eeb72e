"""The accept-queue lab: a service that gets more connections at once than its accept queue holds."""
