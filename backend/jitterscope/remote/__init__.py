"""What other systems send by Prometheus remote write: metrics by name and label, what they belong to, and who sends."""
