"""The packet-loss lab: a service whose packets to its clients are lost now and then."""
