"""A tape's block as code: where it begins and ends, what its tapes record, and what they are asked inside it.

| question | module |
|---|---|
| which statement enters the tape, and which statements are its block | `with_statement.py` |
| a tape in lowered code: `watch`, `reset`, `stop_recording`, its end; may it be asked | `tape_region.py` |
| copies that stand for a value that is watched, and the names that a tape knows a value by | `watched_copies.py` |
| one object under several names, where branches or loops meet | `merged_objects.py` |
| `tape.gradient` and `tape.jacobian` inside lowered code: the arguments | `gradient_arguments.py` |
| what such a call may ask for, and what is refused | `requests_in_block.py` |
| the derivative, written where it is asked for | `gradients_in_block.py` |
"""
