"""The disk-stall lab: a service that writes each request to a limited disk and waits until it is durable."""
