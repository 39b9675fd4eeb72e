"""Prepares an installation that others start: containers, Kubernetes, by hand. `make up` has devstack for that."""
