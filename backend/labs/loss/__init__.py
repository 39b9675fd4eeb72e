"""The packet-loss lab: a service some of whose packets to its clients are lost."""
