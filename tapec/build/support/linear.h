/* The routines of BLAS and LAPACK that compiled functions use, as Fortran's compilers declare them.
 *
 * They are those of the program, or, with OWN_ROUTINES, those of dense.c.  Matrices are stored by
 * columns, pivots count from 1, and `info` is 0, or the place where the matrix is singular.
 */
#ifndef TAPEC_LINEAR_H
#define TAPEC_LINEAR_H

#include "native.h"

typedef int32_t extent;
/* Fortran passes the length of every character argument behind the others. */
typedef size_t length;

#ifdef OWN_ROUTINES
#define ROUTINE(name) LOCAL(name)
#pragma GCC visibility push(hidden)
#else
#define ROUTINE(name) name##_
#endif

extern double ROUTINE(ddot)(const extent *, const void *, const extent *, const void *, const extent *);
extern float ROUTINE(sdot)(const extent *, const void *, const extent *, const void *, const extent *);
extern double ROUTINE(dnrm2)(const extent *, const void *, const extent *);
extern float ROUTINE(snrm2)(const extent *, const void *, const extent *);

#define ROUTINES(k) \
    extern void ROUTINE(k##gemv)(const char *, const extent *, const extent *, const void *, const void *, const extent *, \
                         const void *, const extent *, const void *, void *, const extent *, length); \
    extern void ROUTINE(k##gemm)(const char *, const char *, const extent *, const extent *, const extent *, const void *, \
                         const void *, const extent *, const void *, const extent *, const void *, void *, \
                         const extent *, length, length); \
    extern void ROUTINE(k##getrf)(const extent *, const extent *, void *, const extent *, extent *, extent *); \
    extern void ROUTINE(k##getri)(const extent *, void *, const extent *, const extent *, void *, const extent *, extent *); \
    extern void ROUTINE(k##gesv)(const extent *, const extent *, void *, const extent *, extent *, void *, const extent *, \
                         extent *); \
    extern void ROUTINE(k##potrf)(const char *, const extent *, void *, const extent *, extent *, length); \
    extern void ROUTINE(k##syevd)(const char *, const char *, const extent *, void *, const extent *, void *, void *, \
                          const extent *, extent *, const extent *, extent *, length, length); \
    extern void ROUTINE(k##gesdd)(const char *, const extent *, const extent *, void *, const extent *, void *, void *, \
                          const extent *, void *, const extent *, void *, const extent *, extent *, extent *, length);

ROUTINES(s)
ROUTINES(d)

#ifdef OWN_ROUTINES
#pragma GCC visibility pop
#endif

#endif
