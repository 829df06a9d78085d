"""`tapec.function`: a function with tapes in its body, compiled as a whole.

| question | module |
|---|---|
| one compiled version for each structure of arguments | `compiled_function.py` |
| the function lowered over the arguments of a call | `function_lowering.py` |
| calls before it is compiled, over whole arrays | `first_calls.py` |
| a call from Python: arguments and variables in, the user's structure out | `compiled_call.py` |
| changes of lists, dicts, attributes and generators of the caller, which follow the program | `caller_effects.py` |
"""
