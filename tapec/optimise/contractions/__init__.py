"""Products of matrices and vectors, and what is left to BLAS."""
