"""What runs on vectors and threads, and the functions that it calls."""
