"""Gradient tapes: a block of ordinary code becomes a program, and a question to the tape a derivative of that program.

A tape that is entered lowers its block over the objects that are alive then.  What comes out is a *plan*, kept for
the next time that the block is met with objects of the same structure.  The block itself runs as Python.  When it
ends, the plan and the objects that it left make a *recording*, which answers what the tape is asked.

    objects/              what live objects are for the program: inputs, structure, guards of both
    block/                the code between entry and end: its statement, its tapes, gradients asked for inside it
    derivatives/          the derivative of a block's program, and whether a source is connected at all
    run/                  programs that are run: as Python or compiled, for a derivative or for a branch to be decided
    plan/                 a lowered block, made, kept and found again
    answers/              a recording, and what it says of targets and sources
    compiled_functions/   `tapec.function`: a function with tapes in it, compiled as a whole
    custom_derivatives/   `custom_gradient`, `custom_jvp`, `register`

Imports between the folders point one way: answers and compiled functions use plans, plans use blocks and runs, all
of them use objects and derivatives.  The tape as the user meets it is `tapec/gradient_tape.py`.
"""
