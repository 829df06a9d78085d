"""What is known of the extents of arrays and slices, and versions of a program for what is not."""
