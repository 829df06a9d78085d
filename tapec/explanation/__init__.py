"""What the compiler makes of a function, in words and on a page."""
