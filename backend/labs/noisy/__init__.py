"""The noisy-neighbour lab: a server beside another workload that wants all CPUs of the node."""
