"""Fixes tried on a sustained fault: really applied, detected or declared, then measured and judged by the product."""
