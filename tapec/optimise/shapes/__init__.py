"""What is known of the extents of arrays and slices, and versions of a program for what is not.

| module | what it does |
|---|---|
| `broadcast_copies.py` | copy a small operand where its broadcast copy can be used |
| `broadcast_versions.py` | a second version for arguments of which nothing has to be broadcast |
| `check_hoisting.py` | make checks once that every iteration of a loop would make alike |
| `check_sinking.py` | count in a loop the divisions by zero that raise, and raise behind it |
| `demanded_extents.py` | extents without which every iteration of a loop would raise |
| `equal_extents.py` | extents of a variable that stands for several arrays of one size |
| `implied_extents.py` | give a slice with constant bounds the extent that the elements it is asked for imply |
| `known_extents.py` | whether a bound is the extent of an array |
| `lookup_versions.py` | a version for subscripts that are looked up and lie behind: children in a tree |
| `loop_ranges.py` | how far a loop's variable counts, in names that are set before the loops around it |
| `slice_facts.py` | what is known of slices and extents at each statement, for `slice_folding.py` |
| `slice_folding.py` | take elements of a slice for what they are: elements of the array that it is a slice of |
| `unit_stride_versions.py` | a version without subscript factors of 1 or 0 |
| `versions.py` | versions of a program, and the guards that choose among them |
"""
