"""Pull requests for fixes: which repository has a workload's file, how it changes, and the outcome."""
