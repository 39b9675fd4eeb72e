"""One folder an area: its causes, what they read, their fixes, its what-if. Areas do not import each other."""
