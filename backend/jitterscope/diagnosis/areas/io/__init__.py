"""Disks: what a workload waits for when it reads, writes, or has a file system make its data safe."""
