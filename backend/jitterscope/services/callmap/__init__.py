"""Who calls whom: workloads, servers, and addresses with the time of each hop between them."""
