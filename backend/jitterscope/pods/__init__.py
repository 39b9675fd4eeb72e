"""How long pods take to start on a node, what of it, and what it would be without the eBPF verifier."""
