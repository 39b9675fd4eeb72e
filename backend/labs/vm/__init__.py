"""A virtual machine with another kernel: Debian's, with the unified cgroup hierarchy. Nothing of the host changes."""
