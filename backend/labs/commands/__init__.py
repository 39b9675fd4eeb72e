"""One lab per file: `NAME` is what to type after `jitterscope lab`, and `command` is what runs."""
