"""The area `app`: what a program waits for by its own doing."""
