"""Functions that come with a derivative of their own: `custom_gradient`, `custom_jvp`, `register`, `opaque`.

| question | module |
|---|---|
| what the decorators make of a function | `custom_gradient.py` |
| a call of such a function, by Python or in lowered code | `custom_function_calls.py` |
| its rule, written into a derivative | `rule_application.py` |
| a function of the rule, lowered | `rule_lowering.py` |
| floats from outside the call on which the value depends | `outside_values.py` |
"""
