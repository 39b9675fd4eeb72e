"""A real Kubernetes on this machine, in its own namespaces, without Docker, a registry, or systemd."""
