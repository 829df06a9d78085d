"""A recording, and what it answers: gradients, Jacobians, and why a gradient is None.

| question | module |
|---|---|
| what a tape keeps of a block that has run | `recording.py` |
| a tape that is entered again | `reentered_tape.py` |
| the name of each object in the program, found by a walk over what the block left | `object_names.py` |
| the same for a block that is met again, by generated code | `object_collectors.py` |
| the names of targets and sources, and how answers for complex ones are joined | `targets_and_sources.py` |
| numbers that are one object but several values, told apart by the text of the call | `text_identity.py` |
| the gradient or Jacobian, the check of the target's value, None or zero | `gradients.py` |
| the same question again, answered by generated code | `known_answers.py` |
| gradients of tables as `IndexedSlices`, of rows that the frontend has noted at subscripts | `row_gradients.py` |
| `GradientTape.explain`: why a gradient is None | `explain_none.py` |
| the same of one that is zero or not finite | `explain_numbers.py` |
"""
