"""What the compiler makes of a function, in words and on a page.

| question | module |
|---|---|
| what is said of a function; `Explanation`, and the order of `tapec explain --all` | `explained.py` |
| loops that seem to run until they converge | `convergence.py` |
| the short form, and the order of `tapec explain` | `summary.py` |
| names, sizes and expressions of core in the user's words | `wording.py` |
| the largest adjoints of each line, for given arguments | `largest_adjoints.py` |
| the page of `tapec report` | `page.py`; its style and behaviour, `report.css`, `report.js` |
| its lines, colours of syntax, and times | `listing.py`, `highlighting.py`, `timing.py` |

Where a remark is made, the pass that acts makes it, with `remark` of `tapec/remarks.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack

from tapec.on_demand import load
from tapec.options import Keywords

if TYPE_CHECKING:
    from tapec.explanation.explained import Explanation


def explain(
    f: Callable[..., Any],
    wrt: Any = 0,
    signature: Any = None,
    args: tuple[Any, ...] | None = None,
    mode: str = "grad",
    **options: Unpack[Keywords],
) -> Explanation:
    """What the compiler does with a function's gradient, and why.

    f          a Python function or Numba dispatcher that returns one float; of a Jacobian what `jacobian` takes
    wrt        position or name of a parameter, or a tuple of those
    signature  argument types as for `emit`; by default the function's annotations
    args       arguments to run it with, in place of a signature: then `adjoints` has the largest adjoint of each
               line, and which lines have only zeros, infinite ones or nan
    mode       "grad", or "jacobian", "jacfwd", "jacrev", "hessian": then it says, too, whether rows or columns are
               computed, and why; "sparse_jacobian", "sparse_hessian": whether elements are stored as the function runs
    options    as for `grad`
    returns    an Explanation: the activity of each variable with the reason, what is stored (bytes, as a
               formula in the shapes), computed again or run again, which loops are reversed as soon as they
               have run and what keeps the others from it, which loops can run on vectors.  Print it, or
               read its fields
    raises     TapecError (see tapec.errors)

    What connects a target and a source of a tape is told by `GradientTape.explain`.

    >>> import numpy as np
    >>> def energy(x):
    ...     total = 0.0
    ...     for i in range(x.shape[0]):
    ...         total += x[i] ** 2
    ...     return total
    >>> [str(note) for note in explain(energy, signature="f8[:]").notes if note.by == "immediate_reversal"]
    ['fused: each iteration is reversed as soon as it has run']
    >>> def clipped(x):
    ...     scaled = x * 3.0
    ...     return np.maximum(scaled, 5.0)
    >>> [(one.text, one.mark) for one in explain(clipped, args=(1.0,)).adjoints]  # doctest: +NORMALIZE_WHITESPACE
    [('x', 'all are zero'), ('scaled = x * 3.0', 'all are zero'),
     ('return np.maximum(scaled, 5.0)', 'all are zero')]
    """
    # needs the compiler, which `import tapec` does not load
    load("tapec.explanation.explained")
    from tapec.explanation.explained import explained

    return explained(f, wrt, signature, args, mode, options)
