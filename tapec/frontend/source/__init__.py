"""A function's text and tree, before anything is known of its arguments.

Start at `function_source.py`: it finds and parses the source of a function, and says where each node stands in the
user's file.  `functions_on_one_line.py` tells lambdas on one line apart; `pickled_functions.py` finds the text of
functions that come by pickle; `decompiled.py` reads the text of functions that have none, as `exec` makes them, off
their code.  `numba_decorators.py` reads what `@njit`, `@vectorize` and the like say of a function.

The tree is rewritten before it is lowered: `comprehension_names.py` gives the variables of comprehensions names that
nothing else has, `match_statement.py` writes `match` as `if`, and `tail_exits.py` moves every `return`, `break`,
`continue` and loop `else` into tail position; for programs that decide at run time `caught_exceptions.py` writes
`try` as `if`, and `shared_variables.py` what `nonlocal` sets as items of lists. `source_liveness.py` says which
variables may still be read after a statement. `refused_syntax.py` has the syntax that is refused, and the words for
it; the sentences are made where it is met (`calls/inlining.py`, `evaluator/evaluator.py`). `private_names.py` names
`self.__scale` after its class.
"""
