"""Compares blocks of recorded time before and after a change, with tests that are valid for few blocks."""
