"""Which arrays there are, where they are made, and what stays in numbers instead."""
