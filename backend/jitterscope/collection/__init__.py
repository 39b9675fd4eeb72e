"""What collectors may read of an organization's traffic: switches that ingest and collectors obey."""
