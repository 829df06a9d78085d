"""Time compiled gradients against their primals and against hand-written adjoints."""
