"""The service-gc lab: an HTTP service on a runtime with a garbage collector, under a CPU limit."""
