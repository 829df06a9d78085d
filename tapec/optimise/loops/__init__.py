"""Which loops there are, in which order they run, and what their iterations hand on."""
