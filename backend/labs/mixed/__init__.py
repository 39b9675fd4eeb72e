"""The mixed-load lab: twelve real servers under ordinary load, without a fault."""
