"""The coredns-oom lab: bursts of queries that wait for a slow upstream, and a memory limit."""
