"""A service and its clients in separate network namespaces, linked like two machines."""
