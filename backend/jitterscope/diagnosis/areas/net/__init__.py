"""Trouble of TCP connections: segments that are lost, and connections that wait or are made anew."""
