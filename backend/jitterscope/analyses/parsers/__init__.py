"""Evidence files, one kind a module that exports PARSER: found by walking this package, no list names them.

Pure: lines in, a `Parsed` out. Each keeps what it needs in bounded memory, however long the file is.
"""
