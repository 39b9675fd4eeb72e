"""A real one-node Kubernetes on this machine, in namespaces of its own, without Docker, a registry, or systemd."""
