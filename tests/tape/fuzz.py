"""Check random programs with tapes: `python -m tests.tape.fuzz --minutes N [--grammar states]`.

Each seed gives a program, which is held to an oracle that records what runs (`oracle_tape`): `objects` aliases,
rebinds, stores and mutates (`random_objects`), `functions` does so in a compiled function (`random_functions`),
`states` unpacks parameters and runs them through loops (`random_states`), `layers` loops over lists
(`random_layers`).  A LoweringError is a refusal: it is counted.
"""

from __future__ import annotations

import argparse
import time
import traceback

import numpy as np

from tests.tape import random_functions, random_layers, random_objects, random_states
from tests.tape.random_objects import reasons

GRAMMARS = {
    "objects": random_objects.examine,
    "functions": random_functions.examine,
    "states": random_states.examine,
    "layers": random_layers.examine,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grammar", choices=sorted(GRAMMARS), default="objects")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--start", type=int, default=1000)
    parser.add_argument("--failures", type=int, default=3)
    parser.add_argument("--complex", action="store_true", help="with complex numbers")
    options = parser.parse_args()
    random_functions.interpreted()
    examine, end = GRAMMARS[options.grammar], time.time() + 60 * options.minutes
    seed, done, refused, failures = options.start, 0, 0, 0
    while time.time() < end and failures < options.failures:
        try:
            one, other = examine(seed, mixed=options.complex)
            done, refused = done + one, refused + other
        except Exception:
            failures += 1
            print(f"--- seed {seed}")
            traceback.print_exc(limit=-3)
        seed += 1
    print(f"{seed - options.start} programs, {done} answers, {refused} refused, {failures} failures")
    for reason, count in reasons.most_common(25):
        print(f"{count:6d} {reason}")


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
