"""How long pods take to start on a node, by phase, and how long they would take without the eBPF verifier."""
