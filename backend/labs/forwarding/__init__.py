"""The dns-forward lab: a CoreDNS that forwards, and what can be wrong between it and its upstream."""
