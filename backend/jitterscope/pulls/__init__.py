"""Pull requests for fixes: which repository has a workload's file, the change of it, and how it went."""
