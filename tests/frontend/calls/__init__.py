"""Calls: what is inlined, and what is called by name."""
