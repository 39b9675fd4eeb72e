"""Labs: each makes one real fault with the real software, lets the product watch, and compares the two accounts."""
