"""Trouble that lies in the runtime of a program: its garbage collector stops it."""
