"""The dns-forward lab: a CoreDNS that forwards, and what can go wrong between it and its upstream."""
