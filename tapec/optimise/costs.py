"""The cost model: how long things take, and from where on a rewrite pays; every number by which passes choose.

Nothing here decides whether a rewrite is right.  Sources: [fog] A. Fog, Instruction tables, 2022; [llvm] defaults of
LLVM's vectoriser and unroller; [line] a cache line of 64 bytes, [page] a page of 4 KiB; where none is given, the number
was chosen by `python -m tools.bench` and `tools.bench.unseen` between its half and its double.
"""

from __future__ import annotations

# how long operations take: additions, multiplications and loads take 1
DIVISION = 4  # a quotient, on vectors [fog]
FUNCTION = 8  # an elementary function

# iterations
SHORT_LOOP = 8  # so few do not fill a vector of 512 bits twice
UNROLLED_ITERATIONS = 4  # more are not written out
HOISTED_ITERATIONS = 4  # for fewer, an array of values costs more than it saves
LLVM_UNROLLS = 16  # iterations that LLVM writes out [llvm]
STATEMENT_AXES = 3  # of a statement over whole arrays; with more it says less than its loops
CONDITIONAL_PARTS = 16  # operations, names and numbers that a conditional expression has at most, to be read in one go
LANES = 16  # fewer do not fill vectors
LANE_WIDTH = 64  # iterations side by side
STRIP_ITERATIONS = 32  # between two of which elementary functions run on vectors
SHORT_IN_LANES = 24  # of longer loops inside, vectors leave little over, and lanes would take elements that lie apart
CACHED_ITERATIONS = 512  # of loops inside, of which copies for all lanes stay in the cache
JAMMED_ITERATIONS = 4  # iterations at once of an outer loop: more fill the registers
PEELED_ITERATIONS = 2  # at each end of a loop around a ring
ROTATED_ELEMENTS = 4  # how far ahead of an iteration's own element an addition is carried
FUSION_ROUNDS = 12  # loops are fused in pairs, and level by level, so often at most
FUSION_DISTANCE = 40  # statements that may stand between two loops that are fused

# statements that a rewrite may repeat: machine code grows with them
UNROLLED_STATEMENTS = 60
LANE_STATEMENTS = 120  # of a short loop that is written out in lanes
JAMMED_STATEMENTS = 16
PEELED_STATEMENTS = 60  # they are written three times
SPLIT_STATEMENTS = 100  # they are written two or three times
COMPUTED_TWICE = 16  # before a loop, and in it
RECOMPUTED = 12  # of an iteration, for the one before
VERSION_STATEMENTS = 200  # of a program that is worth a second version in the same function
VERSION_FUNCTION = 1000  # of one that is worth a second version as a function by itself

# vectors
LLVM_COMPARISONS = 8  # of pairs of arrays, that LLVM makes before a loop at most [llvm]
OWN_COMPARISONS = 20  # of pairs of arrays before a loop that runs once; more, and it is told that they are disjoint
OWN_COMPARISONS_AGAIN = 1  # before a loop that runs in each iteration of another one
NEIGHBOURS = 4  # elements that an iteration loads beside one another are neighbours up to this distance
APART_PER_CALL = 3  # loads of elements that lie apart, for each elementary function
SELECTED_OPERATIONS = 64  # on both sides of a branch that becomes a selection
SELECTED_CALLS = 6  # of elementary functions on these sides
STRIDED_ROWS = 4  # rows that are added up side by side
STRIDED_WORK = 4  # operations per element; more gain more on vectors than the elements cost
TABLE_FACTOR = 4  # a table of a function's values is so many times as long as the loop that reads it

# arrays
SMALL_ARRAY = 16  # elements that become numbers: there are 16 or 32 registers
STACK_ELEMENTS = 256  # of an array that is put on the stack
PRIVATE_ELEMENTS = 64  # of an array of known size whose elements are looked at one by one
KNOWN_ELEMENTS = 16  # that are remembered for loads that follow
COPIED_COLUMNS = 4  # of a matrix of coordinates
SMALL_MATRIX = 16  # elements that have a cache line or two [line]
CHUNK_ELEMENTS = 2048  # of a part of a buffer that iterations share
PAGE_ELEMENTS = 512  # of eight bytes [page]
STACK_CAPACITY = 64  # elements of a stack before it grows
CHEAP_LOADS = 2  # of an element that is computed again in place of being kept
CHEAP_OPERATIONS = 2
COPYING_STATEMENTS = 3  # a loop of no more copies or fills

# products of matrices
FEW_ELEMENTS = 8  # along each axis: loops are faster than BLAS
WRITTEN_OUT = 4  # a known extent up to which a product is written out
TALL = 4  # so many times as many rows as columns
TALL_PRODUCTS = 4  # that are worth a second version of their loop
BLAS_ITERATIONS = 8  # of each loop of a nest that BLAS is worth its calls and copies for
BLAS_WORK = 16384  # iterations of the whole nest
BLAS_ELEMENTS = 2**24  # of a matrix that a nest without one may be given

# what branches skip
SKIPPED_STORES = 2  # that a branch around them is worth
SKIPPED_ITERATIONS = 8  # of a loop that moves into a branch, at most
PATH_ADDITIONS = 2  # of what is chosen, that tell an optimal path

# threads
CHUNKS = 16  # of a loop, at most
CHUNK_ITERATIONS = 512  # of a short body, that are worth a chunk
CHUNK_SUMS = 8  # elements of a sum, that are worth a chunk
