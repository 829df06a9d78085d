"""Dropping what nobody reads, one name per value, algebraic identities, and code as a person would write it."""
