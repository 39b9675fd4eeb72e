"""The page-cache lab: a service that serves more files than its memory limit holds."""
