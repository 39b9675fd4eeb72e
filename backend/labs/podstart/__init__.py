"""The bpf-startup lab: pods that wait for the eBPF verifier before they run."""
