"""Random programs.

    python -m tools.fuzz --minutes N [--seed S] [--grammar vectors]    derivatives of programs in the language
    python -m tools.fuzz.subscripts [--seed S] [--grammar elements]    subscripts that may be out of range
    python -m tools.fuzz.signatures [--seed S]                         ways of passing arguments
    python -m tools.fuzz.memory [--seed S]                             views, copies, and stores into them

Each seed gives a program, a pure function of the seed, by a grammar (`grammars/`).  `examination.py` checks it;
`shrinking.py` removes statements from one that fails while it fails in the same way, and writes it to a file.
With `NUMBA_DISABLE_JIT=1`, which sees ten times as many programs, generated code runs under harsh conditions
(`conditions.py`).  Random programs with tapes are in `tests/tape/`: `python -m tests.tape.fuzz`.
"""
