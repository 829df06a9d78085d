/* Memory of compiled functions: blocks that are counted by who holds them.
 *
 * Compiled code asks for these functions by name.  A block is freed by whoever gives back the last
 * reference.  What a call allocates, it allocates and frees in its own thread, so that counts need
 * not be atomic.  A function that raises leaves the blocks of its callers behind: every thread has a
 * list of the blocks of the call that it is in, and what is in the list then is freed.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

typedef void destructor(void *data, size_t size, void *info);

typedef struct block {
    size_t references;
    destructor *destroy;
    void *info;
    void *data;
    size_t size;
    struct block *previous, *next;
} block;

/* the block that this thread's call has allocated last; between calls there is none */
static _Thread_local block *last __attribute__((tls_model("initial-exec")));

void *LOCAL(NRT_Allocate)(size_t size)
{
    /* malloc(0) may return NULL, which compiled code takes for a failure */
    return malloc(size ? size : 1);
}

void *LOCAL(NRT_Reallocate)(void *data, size_t size)
{
    return realloc(data, size ? size : 1);
}

void LOCAL(NRT_Free)(void *data)
{
    free(data);
}

static block *start(block *made, void *data, size_t size, destructor *destroy, void *info)
{
    *made = (block){1, destroy, info, data, size, last, NULL};
    if (last != NULL)
        last->next = made;
    last = made;
    return made;
}

/* A block with its data behind it; `align` is a power of two. */
static block *with_data(size_t size, size_t align, destructor *destroy, void *info)
{
    size_t room = sizeof(block) + align;
    if (size > SIZE_MAX - room)
        return NULL;
    block *made = malloc(room + size);
    if (made == NULL)
        return NULL;
    uintptr_t first = ((uintptr_t)(made + 1) + align - 1) & ~(uintptr_t)(align - 1);
    return start(made, (void *)first, size, destroy, info);
}

void *LOCAL(NRT_MemInfo_alloc)(size_t size)
{
    return with_data(size, sizeof(max_align_t), NULL, NULL);
}

void *LOCAL(NRT_MemInfo_alloc_aligned)(size_t size, unsigned align)
{
    return with_data(size, align, NULL, NULL);
}

void *LOCAL(NRT_MemInfo_alloc_dtor)(size_t size, destructor *destroy)
{
    return with_data(size, sizeof(max_align_t), destroy, NULL);
}

void *LOCAL(NRT_MemInfo_data_fast)(block *held)
{
    return held->data;
}

/* Lists: data that grows is a piece of memory of its own. */

static void free_items(void *data, size_t size, void *info)
{
    (void)size;
    if (info != NULL)
        ((void (*)(void *))info)(data);
    free(data);
}

void *LOCAL(NRT_MemInfo_new_varsize_dtor)(size_t size, destructor *destroy_items)
{
    void *data = LOCAL(NRT_Allocate)(size);
    if (data == NULL)
        return NULL;
    block *made = malloc(sizeof(block));
    if (made == NULL) {
        free(data);
        return NULL;
    }
    return start(made, data, size, free_items, (void *)destroy_items);
}

void *LOCAL(NRT_MemInfo_new_varsize)(size_t size)
{
    return LOCAL(NRT_MemInfo_new_varsize_dtor)(size, NULL);
}

void *LOCAL(NRT_MemInfo_varsize_alloc)(block *held, size_t size)
{
    held->data = LOCAL(NRT_Allocate)(size);
    held->size = held->data == NULL ? 0 : size;
    return held->data;
}

void *LOCAL(NRT_MemInfo_varsize_realloc)(block *held, size_t size)
{
    void *data = LOCAL(NRT_Reallocate)(held->data, size);
    if (data == NULL)
        return NULL;
    held->data = data;
    held->size = size;
    return data;
}

void LOCAL(NRT_MemInfo_varsize_free)(block *held, void *data)
{
    free(data);
    if (data == held->data)
        held->data = NULL;
}

/* References. */

static void take_out(block *held)
{
    if (held->previous != NULL)
        held->previous->next = held->next;
    if (held->next != NULL)
        held->next->previous = held->previous;
    else
        last = held->previous;
}

void LOCAL(NRT_MemInfo_call_dtor)(block *held)
{
    if (held->destroy != NULL)
        held->destroy(held->data, held->size, held->info);
    take_out(held);
    free(held);
}

void LOCAL(NRT_incref)(block *held)
{
    if (held != NULL)
        held->references++;
}

void LOCAL(NRT_decref)(void *given)
{
    block *held = given;
    if (held != NULL && --held->references == 0)
        LOCAL(NRT_MemInfo_call_dtor)(held);
}

/* Exceptions. */

int LOCAL(status_of)(failure *raised)
{
    int32_t status;
    memcpy(&status, raised->status, sizeof status);
    if (raised->count > 0) {
        free(raised->values);
        free(raised);
    }
    while (last != NULL) {
        block *left = last;
        last = left->previous;
        /* the items of a list that are blocks are in the list of blocks themselves */
        if (left->destroy == free_items)
            free(left->data);
        free(left);
    }
    return status;
}

#pragma GCC visibility pop
