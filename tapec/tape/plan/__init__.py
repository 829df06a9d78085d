"""Plans: a lowered block, kept at its place for as long as the structure of its inputs is the same.

| question | module |
|---|---|
| how a block is lowered: up to three attempts, each knowing more of the run | `block_lowering.py` |
| what a plan is, where plans are kept, and which one fits | `tape_plan.py` |
| whether decisions fall as they did, and extents are equal as they were | `plan_checks.py` |

The guard of its structure is written while the block is read (`objects/plan_guards.py`).
"""
