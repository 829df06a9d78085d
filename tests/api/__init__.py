"""The public functions: values, shapes, arguments, threads."""
