"""The bpf-startup lab: pods that wait for the verifier before they run."""
