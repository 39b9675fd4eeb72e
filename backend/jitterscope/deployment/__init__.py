"""Prepares an installation that is started by other means: containers, Kubernetes, by hand.

For `make up`, see devstack.
"""
