"""Programs that are run while a block is read, or to answer.

| question | module |
|---|---|
| a derivative as text: when it runs as Python, over whole arrays, and when it is compiled | `compiled_derivative.py` |
| inputs that a derivative takes packed, since it loops over them | `packed_inputs.py` |
| branches and iteration counts that are decided on the numbers of the run | `branch_decisions.py` |
"""
