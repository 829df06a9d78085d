/* Linear algebra of compiled functions, over BLAS and LAPACK, or what stands in for them.
 *
 * `kind` is 's' for float and 'd' for double.  Extents come as 64-bit integers; those of BLAS and
 * LAPACK have 32 bits, and compiled code checks the largest ones before it calls.  Functions return
 * 0, LAPACK's number of what is wrong with the matrix, or a negative number without memory.
 */
#include "linear.h"

#include <stdio.h>
#include <stdlib.h>

#pragma GCC visibility push(hidden)

/* Call the routine of the element type. */
#define BY_KIND(call_s, call_d) \
    if (kind == 's') \
        call_s; \
    else \
        call_d

static const extent one = 1;
static const int no_memory = -1;

int LOCAL(numba_xxdot)(char kind, char conjugate, int64_t n, const void *x, const void *y, void *out)
{
    (void)conjugate;
    extent count = (extent)n;
    BY_KIND(*(float *)out = ROUTINE(sdot)(&count, x, &one, y, &one), *(double *)out = ROUTINE(ddot)(&count, x, &one, y, &one));
    return 0;
}

int LOCAL(numba_xxnrm2)(char kind, int64_t n, const void *x, int64_t step, void *out)
{
    extent count = (extent)n, stride = (extent)step;
    BY_KIND(*(float *)out = ROUTINE(snrm2)(&count, x, &stride), *(double *)out = ROUTINE(dnrm2)(&count, x, &stride));
    return 0;
}

int LOCAL(numba_xxgemv)(char kind, char trans, int64_t m, int64_t n, const void *alpha, const void *a, int64_t lda,
                        const void *x, const void *beta, void *y)
{
    extent rows = (extent)m, columns = (extent)n, leading = (extent)(lda > 1 ? lda : 1);
    BY_KIND(ROUTINE(sgemv)(&trans, &rows, &columns, alpha, a, &leading, x, &one, beta, y, &one, 1),
            ROUTINE(dgemv)(&trans, &rows, &columns, alpha, a, &leading, x, &one, beta, y, &one, 1));
    return 0;
}

int LOCAL(numba_xxgemm)(char kind, char transa, char transb, int64_t m, int64_t n, int64_t k, const void *alpha,
                        const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc)
{
    extent rows = (extent)m, columns = (extent)n, inner = (extent)k;
    extent leading_a = (extent)(lda > 1 ? lda : 1), leading_b = (extent)(ldb > 1 ? ldb : 1),
           leading_c = (extent)(ldc > 1 ? ldc : 1);
    BY_KIND(ROUTINE(sgemm)(&transa, &transb, &rows, &columns, &inner, alpha, a, &leading_a, b, &leading_b, beta, c, &leading_c,
                   1, 1),
            ROUTINE(dgemm)(&transa, &transb, &rows, &columns, &inner, alpha, a, &leading_a, b, &leading_b, beta, c, &leading_c,
                   1, 1));
    return 0;
}

int LOCAL(numba_xxgetrf)(char kind, int64_t m, int64_t n, void *a, int64_t lda, extent *pivots)
{
    extent rows = (extent)m, columns = (extent)n, leading = (extent)lda, info = 0;
    BY_KIND(ROUTINE(sgetrf)(&rows, &columns, a, &leading, pivots, &info), ROUTINE(dgetrf)(&rows, &columns, a, &leading, pivots, &info));
    return info;
}

/* The extent of working memory that a routine asked for, in the first element of `work`. */
static extent asked_for(char kind, const void *work)
{
    return (extent)(kind == 's' ? *(const float *)work : *(const double *)work);
}

static void *working_memory(char kind, extent count)
{
    return malloc((size_t)(count > 1 ? count : 1) * (kind == 's' ? sizeof(float) : sizeof(double)));
}

int LOCAL(numba_ez_xxgetri)(char kind, int64_t n, void *a, int64_t lda, const extent *pivots)
{
    extent order = (extent)n, leading = (extent)lda, asking = -1, info = 0;
    double wanted = 0;
    BY_KIND(ROUTINE(sgetri)(&order, a, &leading, pivots, &wanted, &asking, &info),
            ROUTINE(dgetri)(&order, a, &leading, pivots, &wanted, &asking, &info));
    extent count = asked_for(kind, &wanted);
    void *work = working_memory(kind, count);
    if (work == NULL)
        return no_memory;
    BY_KIND(ROUTINE(sgetri)(&order, a, &leading, pivots, work, &count, &info),
            ROUTINE(dgetri)(&order, a, &leading, pivots, work, &count, &info));
    free(work);
    return info;
}

int LOCAL(numba_xgesv)(char kind, int64_t n, int64_t columns, void *a, int64_t lda, extent *pivots, void *b,
                       int64_t ldb)
{
    extent order = (extent)n, sides = (extent)columns, leading_a = (extent)lda, leading_b = (extent)ldb, info = 0;
    BY_KIND(ROUTINE(sgesv)(&order, &sides, a, &leading_a, pivots, b, &leading_b, &info),
            ROUTINE(dgesv)(&order, &sides, a, &leading_a, pivots, b, &leading_b, &info));
    return info;
}

int LOCAL(numba_xxpotrf)(char kind, char uplo, int64_t n, void *a, int64_t lda)
{
    extent order = (extent)n, leading = (extent)lda, info = 0;
    BY_KIND(ROUTINE(spotrf)(&uplo, &order, a, &leading, &info, 1), ROUTINE(dpotrf)(&uplo, &order, a, &leading, &info, 1));
    return info;
}

int LOCAL(numba_ez_xxxevd)(char kind, char jobz, char uplo, int64_t n, void *a, int64_t lda, void *w)
{
    extent order = (extent)n, leading = (extent)lda, asking = -1, integers = 0, info = 0;
    double wanted = 0;
    BY_KIND(ROUTINE(ssyevd)(&jobz, &uplo, &order, a, &leading, w, &wanted, &asking, &integers, &asking, &info, 1, 1),
            ROUTINE(dsyevd)(&jobz, &uplo, &order, a, &leading, w, &wanted, &asking, &integers, &asking, &info, 1, 1));
    extent count = asked_for(kind, &wanted);
    void *work = working_memory(kind, count);
    extent *more = malloc((size_t)(integers > 1 ? integers : 1) * sizeof(extent));
    if (work == NULL || more == NULL) {
        free(work);
        free(more);
        return no_memory;
    }
    BY_KIND(ROUTINE(ssyevd)(&jobz, &uplo, &order, a, &leading, w, work, &count, more, &integers, &info, 1, 1),
            ROUTINE(dsyevd)(&jobz, &uplo, &order, a, &leading, w, work, &count, more, &integers, &info, 1, 1));
    free(more);
    free(work);
    return info;
}

int LOCAL(numba_ez_gesdd)(char kind, char jobz, int64_t m, int64_t n, void *a, int64_t lda, void *s, void *u,
                          int64_t ldu, void *vt, int64_t ldvt)
{
    extent rows = (extent)m, columns = (extent)n, leading_a = (extent)lda, leading_u = (extent)ldu,
           leading_v = (extent)ldvt, asking = -1, info = 0;
    extent small = rows < columns ? rows : columns;
    double wanted = 0;
    extent *more = malloc((size_t)(small > 1 ? small : 1) * 8 * sizeof(extent));
    if (more == NULL)
        return no_memory;
    BY_KIND(ROUTINE(sgesdd)(&jobz, &rows, &columns, a, &leading_a, s, u, &leading_u, vt, &leading_v, &wanted, &asking, more,
                    &info, 1),
            ROUTINE(dgesdd)(&jobz, &rows, &columns, a, &leading_a, s, u, &leading_u, vt, &leading_v, &wanted, &asking, more,
                    &info, 1));
    extent count = asked_for(kind, &wanted);
    void *work = working_memory(kind, count);
    if (work == NULL) {
        free(more);
        return no_memory;
    }
    BY_KIND(ROUTINE(sgesdd)(&jobz, &rows, &columns, a, &leading_a, s, u, &leading_u, vt, &leading_v, work, &count, more, &info,
                    1),
            ROUTINE(dgesdd)(&jobz, &rows, &columns, a, &leading_a, s, u, &leading_u, vt, &leading_v, work, &count, more, &info,
                    1));
    free(work);
    free(more);
    return info;
}

/* What compiled code does when a routine says that it was called wrongly, or without memory. */

void LOCAL(numba_gil_ensure)(void *state)
{
    (void)state;
}

void LOCAL(Py_FatalError)(const char *message)
{
    fprintf(stderr, "%s\n", message);
    abort();
}

int LOCAL(numba_fatal_error)(void)
{
    LOCAL(Py_FatalError)("a routine of linear algebra was called wrongly, or without memory");
    return 0;
}

#pragma GCC visibility pop
