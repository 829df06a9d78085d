"""Which arrays there are, where they are made, and what stays in numbers instead.

| module | what it does |
|---|---|
| `allocation_hoisting.py` | allocate once what every iteration of a loop would allocate anew |
| `array_phis.py` | copy elements of a small array where two branches bring one each: both become numbers |
| `buffer_rematerialisation.py` | compute again, where it is read, what a scratch array holds between two loops |
| `buffer_reuse.py` | let an array that a loop fills take the memory of one that the loop reads for the last time |
| `capacity.py` | how many iterations a loop makes in all, where loops around it run it with other bounds each time |
| `chunked_buffers.py` | buffers that the iterations of a loop make for themselves are parts of larger ones |
| `column_layout.py` | keep matrices whose columns loops walk down as the rows of another one |
| `coordinate_columns.py` | copy coordinates of points that loops over pairs read again and again to columns |
| `counted_lists.py` | make arrays of lists of numbers whose room can be counted beforehand |
| `covering_nests.py` | nests of loops that come to every element of an array, once |
| `dead_buffer_reuse.py` | reuse the array that the iteration before has dropped |
| `dead_lists.py` | drop lists of which nobody reads what is taken off them |
| `dead_stores.py` | leave out what the last loop over an array stores into it: nobody reads it afterwards |
| `element_copies.py` | arrays whose elements are copies of another array's elements |
| `element_copy_reuse.py` | keep elements once that two loops of an iteration keep as residuals |
| `iteration_rows.py` | arrays that the iterations of a counted loop make, and keep on a list, are rows of one array |
| `largest_extent.py` | how much room the iterations of a loop ask for that make arrays of different extents |
| `ping_pong.py` | two arrays in turn, where each iteration would make one and hand it to the next |
| `positioned_stacks.py` | lists that iterations fill and empty: one array with a position |
| `privatisation.py` | give each iteration of a loop the scratch array that the program makes once for all of them |
| `redundant_loads.py` | read an element once where nothing changes it, also across loops |
| `row_store_hoisting.py` | keep a row for the reverse sweep once, where every iteration of a loop would keep the same |
| `scalar_replacement.py` | turn small arrays into numbers |
| `stack_allocation.py` | put small arrays on the stack whose elements loops on vectors then keep in registers |
| `stack_lists.py` | the lists of a generated function that are used as stacks: where each is made, filled and emptied |
| `tuple_lists.py` | lists that are filled at the same places are one list of tuples |
| `zero_fill.py` | fill an array where a loop adds to each of its elements, all of them zero |
| `zero_fill_choices.py` | the same for one of two arrays, which a branch has chosen |
| `zeroed_elements.py` | an array whose elements each iteration finds and leaves zero becomes a number |
"""
