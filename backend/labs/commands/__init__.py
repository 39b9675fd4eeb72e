"""One lab a file: `NAME`, what to type after `jitterscope lab`, and `command`, what runs."""
