"""How to set up what sends with an ingest token, one module per program.

Decision 0093 says which of the remote-write programs were tried, and how.
"""
