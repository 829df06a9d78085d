"""What is known of the extents of arrays and slices, and forms of a program for what is not."""
