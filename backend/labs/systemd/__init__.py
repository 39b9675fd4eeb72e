"""A real systemd as PID 1, in namespaces."""
