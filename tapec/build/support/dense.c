/* Linear algebra for modules that may ask for nothing: what linear.c calls where there is no BLAS and no LAPACK. */
#include "linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)

/* Jacobi's methods converge in less than ten rounds; more would mean that something is not finite. */
enum { MOST_ROUNDS = 60 };

#define NUMBER float
#define KIND(name) EXPANDED(PREFIX, s##name)
#define EPSILON 1.2e-7f
#include "dense_kind.h"
#undef NUMBER
#undef KIND
#undef EPSILON

#define NUMBER double
#define KIND(name) EXPANDED(PREFIX, d##name)
#define EPSILON 2.3e-16
#include "dense_kind.h"

#pragma GCC visibility pop
