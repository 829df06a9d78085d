"""Dropping what nobody reads, one name per value, algebraic identities, and code as a person would write it.

| module | what it does |
|---|---|
| `allocation_sinking.py` | make arrays and views where they are first used |
| `available_values.py` | values that are there already: what need not be computed again |
| `branch_outcomes.py` | what the outcome of a test tells of variables |
| `closed_form_counters.py` | write a variable that counts with a loop as a formula of the loop's variable |
| `dead_code.py` | drop statements whose results nothing reads |
| `equal_ways.py` | a number that a branch chooses is one number, where the test says that both are equal |
| `exit_blocks.py` | let what a loop does on its only way out stand behind it |
| `identities.py` | algebraic identities that hold for every number: nan, infinities and signed zeros included |
| `index_tests.py` | test the subscripts of adjoints that no test before all loops covers |
| `non_finite_tests.py` | raise where the first value that is not finite appears: `debug="nan"` |
| `recorded_adjoints.py` | record the largest adjoint of each line, for `tapec explain --args` |
| `renest.py` | put values that are used once back into the expressions that use them |
| `renest_to_read.py` | the same for files that people read: short values wherever they are read, and sums |
| `shown_operations.py` | how errors name an operation: with the user's names |
| `stack_layouts.py` | the layout of a list of arrays: that of all its arrays, or any |
| `conditional_values.py` | a value that a branch chooses is one statement, where it is short |
| `straighten.py` | write branches as a person would |
| `sweep_notes.py` | sweeps without statements are not announced |
| `strip_marks.py` | values without what is said of their derivatives, once nobody differentiates any more |
| `tail_breaks.py` | bring every `break` into tail position again: what follows its `if` moves into the other ways |
| `temporary_names.py` | what a temporary is called: after what it holds |
| `unset_names.py` | give a first value to names that are copied or returned where they may be unset |
| `value_numbering.py` | give every value one name: copies and constants are propagated, repeated work is found |
| `variable_names.py` | coalesce the values of one variable, and choose the names that are printed |
| `widening_casts.py` | numbers of single precision that become double, by a name that says so |
"""
