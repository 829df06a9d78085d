/* Arrays on their way in and out of compiled functions. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

int LOCAL(argument)(const void *data, const int64_t *shape, const int64_t *strides, int rank, int64_t size,
                    char order, int64_t *count, int64_t *steps)
{
    *count = 1;
    if (rank > 0 && shape == NULL)
        return NULL_POINTER;
    for (int k = 0; k < rank; k++) {
        if (shape[k] < 0)
            return NEGATIVE_EXTENT;
        *count *= shape[k];
    }
    int64_t step = size;
    for (int k = 0; k < rank; k++) {
        int axis = order == 'F' ? k : rank - 1 - k;
        steps[axis] = strides == NULL ? step : strides[axis];
        step *= shape[axis];
    }
    if (*count == 0)
        return 0;
    if (data == NULL)
        return NULL_POINTER;
    uintptr_t places = (uintptr_t)data;
    for (int k = 0; k < rank; k++)
        if (shape[k] > 1)
            places |= (uintptr_t)steps[k];
    return places % (uintptr_t)size ? MISALIGNED : 0;
}

static bool contiguous(const int64_t *shape, const int64_t *strides, int rank, int64_t size, char order)
{
    for (int k = 0; k < rank; k++) {
        int axis = order == 'F' ? k : rank - 1 - k;
        if (shape[axis] != 1 && strides[axis] != size)
            return false;
        size *= shape[axis];
    }
    return true;
}

/* Copy from the axis that varies least to the one that varies most; returns where the target goes on. */
static char *copy(char *target, const char *data, const int64_t *shape, const int64_t *strides, int rank, int64_t size,
                  char order, int done)
{
    if (done == rank) {
        memcpy(target, data, (size_t)size);
        return target + size;
    }
    int axis = order == 'F' ? rank - 1 - done : done;
    for (int64_t i = 0; i < shape[axis]; i++)
        target = copy(target, data + i * strides[axis], shape, strides, rank, size, order, done + 1);
    return target;
}

void LOCAL(deliver)(void *target, const void *data, const int64_t *shape, const int64_t *strides, int rank,
                    int64_t size, char order)
{
    int64_t count = 1;
    for (int k = 0; k < rank; k++)
        count *= shape[k];
    if (count == 0)
        return;
    if (contiguous(shape, strides, rank, size, order))
        memcpy(target, data, (size_t)(count * size));
    else
        copy(target, data, shape, strides, rank, size, order, 0);
}

int LOCAL(hand_over)(void **target, int64_t *extents, const void *data, const int64_t *shape, const int64_t *strides,
                     int rank, int64_t size)
{
    int64_t count = 1;
    for (int k = 0; k < rank; k++)
        count *= extents[k] = shape[k];
    *target = malloc(count ? (size_t)(count * size) : 1);
    if (*target == NULL)
        return OUT_OF_MEMORY;
    LOCAL(deliver)(*target, data, shape, strides, rank, size, 'C');
    return 0;
}

/* Strides of an array with other extents over the same elements; compiled code asks for this function.
 *
 * returns  1, with the new strides; 0 if no strides reach the elements in this order
 */
int LOCAL(numba_attempt_nocopy_reshape)(int64_t rank, const int64_t *shape, const int64_t *strides, int64_t new_rank,
                                        const int64_t *new_shape, int64_t *new_strides, int64_t size, int fortran)
{
    int64_t count = 1;
    for (int64_t k = 0; k < rank; k++)
        count *= shape[k];
    int64_t old = 0, step = size;
    /* from the axis that varies fastest on, old and new axes make groups with as many elements */
    for (int64_t made = 0; made < new_rank;) {
        int64_t axis = fortran ? made : new_rank - 1 - made;
        if (new_shape[axis] == 1 || count == 0) {
            new_strides[axis] = step;
            made++;
            continue;
        }
        while (old < rank && shape[fortran ? old : rank - 1 - old] == 1)
            old++;
        if (old == rank)
            return 0;
        int64_t first = fortran ? old : rank - 1 - old;
        int64_t elements = shape[first], wanted = 1;
        step = strides[first];
        old++;
        while (made < new_rank) {
            axis = fortran ? made : new_rank - 1 - made;
            if (wanted == elements && new_shape[axis] != 1)
                break;
            new_strides[axis] = step * wanted;
            wanted *= new_shape[axis];
            made++;
            while (wanted > elements) {
                if (old == rank)
                    return 0;
                int64_t next = fortran ? old : rank - 1 - old;
                if (shape[next] != 1 && strides[next] != step * elements)
                    return 0;
                elements *= shape[next];
                old++;
            }
        }
        if (wanted != elements)
            return 0;
        step *= elements;
    }
    return 1;
}
