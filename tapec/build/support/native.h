/* What compiled functions, their entries and the support code know of each other.
 *
 * PREFIX is the name of the library: with it in front of every name, two libraries can be
 * linked into one program.  Nothing here is visible outside the library.
 */
#ifndef TAPEC_NATIVE_H
#define TAPEC_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOINED(prefix, name) prefix##_##name
#define EXPANDED(prefix, name) JOINED(prefix, name)
#define LOCAL(name) EXPANDED(PREFIX, name)

#pragma GCC visibility push(hidden)

/* What a raised exception leaves: its number in the library, and values for its text, if it has such. */
typedef struct {
    const void *status;
    int32_t unused;
    void *values;
    void *unwrap;
    int32_t count;
} failure;

/* The number of an exception; all memory that the call has left is freed. */
int LOCAL(status_of)(failure *raised);

/* Statuses of calls that do not reach the function; the header documents them. */
enum { NULL_POINTER = -1, NEGATIVE_EXTENT = -2, MISALIGNED = -3, SHAPE_MISMATCH = -4, OUT_OF_MEMORY = -5 };

/* Check an array argument, and fill `steps` with its strides in bytes.
 *
 * strides  in bytes; NULL: the elements are contiguous in the given order, 'C' or 'F'
 * returns  0 or a negative status; `*count` becomes the number of elements
 */
int LOCAL(argument)(const void *data, const int64_t *shape, const int64_t *strides, int rank, int64_t size,
                    char order, int64_t *count, int64_t *steps);

/* Copy the elements of an array to contiguous memory, in C or Fortran order. */
void LOCAL(deliver)(void *target, const void *data, const int64_t *shape, const int64_t *strides, int rank,
                    int64_t size, char order);

/* The same to new memory, which the caller frees; 0 or OUT_OF_MEMORY. */
int LOCAL(hand_over)(void **target, int64_t *extents, const void *data, const int64_t *shape, const int64_t *strides,
                     int rank, int64_t size);

/* Give back one reference to the memory of an array; NULL is nobody's. */
void LOCAL(NRT_decref)(void *block);

#pragma GCC visibility pop

#endif
