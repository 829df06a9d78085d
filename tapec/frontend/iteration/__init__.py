"""What a `for` can run over, and what gives items one by one.

| subject | modules |
|---|---|
| the iteration count and the k-th item of a range, `enumerate`, `zip`, an array | `iterables.py` |
| `iter`, `next`: how far an iterator has run is state | `iterators.py` |
| generators that feed a loop, `await` | `generators.py` |
| generators that feed a loop where the run decides | `fed_loops.py` |
| generators that are asked item by item: `next(g)`, `g.send(x)` | `coroutines.py` |
| sequences of known length: `sorted`, `any`, `map`, `reduce` | `sequences.py` |
| `itertools` | `itertools_calls.py` |
| sets, `defaultdict`, `Counter`, `deque` | `collections_and_sets.py` |
"""
