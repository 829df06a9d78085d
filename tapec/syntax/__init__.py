"""The intermediate representation: what programs are between the user's source and the generated one.

| question | module |
|---|---|
| statements and expressions of core form, with their grammar; keys of statements | `core.py` |
| the type of a name | `types.py` |
| what every program must satisfy | `verify.py` |
| operations that carry a derivative of the user's own, or none | `custom_rule.py` |
| the same program under other names | `renaming.py` |
| integers as sums of names with factors: `2 * i - j + 3` | `linear.py` |
"""
