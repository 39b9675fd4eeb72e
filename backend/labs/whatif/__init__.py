"""A fault recorded by the product, every fix predicted from that recording, and then every fix actually tried."""
