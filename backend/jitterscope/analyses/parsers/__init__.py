"""Evidence files, one kind per module that exports PARSER: found by walking this package, no list names them.

Pure: lines in, a `Parsed` out. Each keeps its state in bounded memory, however long the file is.
"""
