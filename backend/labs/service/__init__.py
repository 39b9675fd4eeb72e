"""The service-gc lab: an HTTP or gRPC service on a runtime with a garbage collector, under a CPU limit."""
