"""Labs: each makes one real fault with real software while the product watches, and compares what the two measured."""
