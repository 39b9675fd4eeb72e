"""The service-gc lab: an HTTP service of a runtime with a garbage collector, under a CPU limit."""
