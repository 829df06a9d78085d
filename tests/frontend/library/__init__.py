"""Functions with handlers of their own."""
