"""The disk-stall lab: a service that writes each request down and waits until it is safe, on a limited disk."""
