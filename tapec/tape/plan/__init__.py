"""Plans: a lowered block, kept at its place for as long as the structure of its inputs is the same.

| question | module |
|---|---|
| how a block is lowered: up to three attempts, each knowing more of the run | `block_lowering.py` |
| what a plan is, where plans are kept, and which one fits | `tape_plan.py` |
| when a block is compiled again: its structure is another one (a guard says so) | `objects/plan_guards.py` |
| the same: decisions fall otherwise, or extents differ | `plan_checks.py` |
"""
