"""A service and its clients in network namespaces of their own, linked as two machines are."""
