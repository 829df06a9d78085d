/* The routines of dense.c for one type of numbers, NUMBER; no guard, since it is included for each.
 *
 * As in LAPACK, entry (i, j) of a matrix is at a[i + j * lda].
 */

/* Sums. */

static NUMBER KIND(sum_of_products)(extent n, const NUMBER *x, extent step_x, const NUMBER *y, extent step_y)
{
    /* four sums do not wait for each other */
    NUMBER sums[4] = {0, 0, 0, 0};
    extent i = 0;
    for (; i + 4 <= n; i += 4)
        for (extent k = 0; k < 4; k++)
            sums[k] += x[(size_t)(i + k) * step_x] * y[(size_t)(i + k) * step_y];
    for (; i < n; i++)
        sums[0] += x[(size_t)i * step_x] * y[(size_t)i * step_y];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* y += factor * x */
static void KIND(add_multiple)(extent n, NUMBER factor, const NUMBER *restrict x, NUMBER *restrict y)
{
    for (extent i = 0; i < n; i++)
        y[i] += factor * x[i];
}

NUMBER KIND(dot)(const extent *n, const void *x, const extent *step_x, const void *y, const extent *step_y)
{
    return KIND(sum_of_products)(*n, x, *step_x, y, *step_y);
}

NUMBER KIND(nrm2)(const extent *n, const void *x, const extent *step)
{
    const NUMBER *values = x;
    NUMBER largest = 0;
    for (extent i = 0; i < *n; i++) {
        NUMBER size = (NUMBER)fabs((double)values[(size_t)i * *step]);
        if (!(size <= largest))
            largest = size;
    }
    if (!(largest > 0) || isinf(largest))
        return largest;
    /* scaled, so that no square overflows */
    double total = 0;
    for (extent i = 0; i < *n; i++) {
        double scaled = (double)values[(size_t)i * *step] / (double)largest;
        total += scaled * scaled;
    }
    return (NUMBER)((double)largest * sqrt(total));
}

/* Products. */

static void KIND(scale)(extent n, NUMBER factor, NUMBER *x)
{
    /* a factor of 0 clears what was never set, too */
    for (extent i = 0; i < n; i++)
        x[i] = factor == 0 ? 0 : factor * x[i];
}

void KIND(gemv)(const char *trans, const extent *m, const extent *n, const void *alpha, const void *a, const extent *lda,
                const void *x, const extent *step_x, const void *beta, void *y, const extent *step_y, length unused)
{
    (void)unused;
    (void)step_y;
    const NUMBER *matrix = a, *vector = x;
    NUMBER *out = y, factor = *(const NUMBER *)alpha;
    bool transposed = *trans == 't' || *trans == 'T';
    KIND(scale)(transposed ? *n : *m, *(const NUMBER *)beta, out);
    for (extent j = 0; j < *n; j++) {
        const NUMBER *column = matrix + (size_t)j * *lda;
        if (transposed)
            out[j] += factor * KIND(sum_of_products)(*m, column, 1, vector, *step_x);
        else
            KIND(add_multiple)(*m, factor * vector[(size_t)j * *step_x], column, out);
    }
}

void KIND(gemm)(const char *transa, const char *transb, const extent *m, const extent *n, const extent *k,
                const void *alpha, const void *a, const extent *lda, const void *b, const extent *ldb, const void *beta,
                void *c, const extent *ldc, length unused_a, length unused_b)
{
    (void)unused_a;
    (void)unused_b;
    const NUMBER *left = a, *right = b;
    NUMBER factor = *(const NUMBER *)alpha;
    bool turned_a = *transa == 't' || *transa == 'T', turned_b = *transb == 't' || *transb == 'T';
    size_t next_row = turned_b ? (size_t)*ldb : 1, next_column = turned_b ? 1 : (size_t)*ldb;
    for (extent j = 0; j < *n; j++) {
        NUMBER *restrict out = (NUMBER *)c + (size_t)j * *ldc;
        const NUMBER *weights = right + j * next_column;
        KIND(scale)(*m, *(const NUMBER *)beta, out);
        if (turned_a) {
            for (extent i = 0; i < *m; i++)
                out[i] += factor
                          * KIND(sum_of_products)(*k, left + (size_t)i * *lda, 1, weights, (extent)next_row);
            continue;
        }
        extent l = 0;
        /* four columns at once: the sums are read and written a quarter as often */
        for (; l + 4 <= *k; l += 4) {
            const NUMBER *restrict c0 = left + (size_t)l * *lda, *restrict c1 = c0 + *lda, *restrict c2 = c1 + *lda,
                         *restrict c3 = c2 + *lda;
            NUMBER w0 = factor * weights[l * next_row], w1 = factor * weights[(l + 1) * next_row],
                   w2 = factor * weights[(l + 2) * next_row], w3 = factor * weights[(l + 3) * next_row];
            for (extent i = 0; i < *m; i++)
                out[i] += (w0 * c0[i] + w1 * c1[i]) + (w2 * c2[i] + w3 * c3[i]);
        }
        for (; l < *k; l++)
            KIND(add_multiple)(*m, factor * weights[l * next_row], left + (size_t)l * *lda, out);
    }
}

/* Elimination. */

static void KIND(swap_rows)(NUMBER *a, extent lda, extent columns, extent first, extent second)
{
    for (extent j = 0; j < columns && first != second; j++) {
        NUMBER *column = a + (size_t)j * lda, kept = column[first];
        column[first] = column[second];
        column[second] = kept;
    }
}

void KIND(getrf)(const extent *m, const extent *n, void *a, const extent *lda, extent *pivots, extent *info)
{
    NUMBER *lu = a;
    extent steps = *m < *n ? *m : *n;
    *info = 0;
    for (extent j = 0; j < steps; j++) {
        NUMBER *column = lu + (size_t)j * *lda;
        extent best = j;
        for (extent i = j + 1; i < *m; i++)
            if (fabs((double)column[i]) > fabs((double)column[best]))
                best = i;
        pivots[j] = best + 1;
        if (column[best] == 0) {
            if (*info == 0)
                *info = j + 1;
            continue;
        }
        KIND(swap_rows)(lu, *lda, *n, j, best);
        for (extent i = j + 1; i < *m; i++)
            column[i] /= column[j];
        for (extent other = j + 1; other < *n; other++) {
            NUMBER *target = lu + (size_t)other * *lda;
            KIND(add_multiple)(*m - j - 1, -target[j], column + j + 1, target + j + 1);
        }
    }
}

/* Solve for one side, with the factors of getrf, in place; rows are swapped already. */
static void KIND(substitute)(extent n, const NUMBER *lu, extent lda, NUMBER *x)
{
    for (extent j = 0; j < n; j++)
        KIND(add_multiple)(n - j - 1, -x[j], lu + (size_t)j * lda + j + 1, x + j + 1);
    for (extent j = n - 1; j >= 0; j--) {
        x[j] /= lu[(size_t)j * lda + j];
        KIND(add_multiple)(j, -x[j], lu + (size_t)j * lda, x);
    }
}

void KIND(gesv)(const extent *n, const extent *sides, void *a, const extent *lda, extent *pivots, void *b,
                const extent *ldb, extent *info)
{
    KIND(getrf)(n, n, a, lda, pivots, info);
    if (*info != 0)
        return;
    for (extent j = 0; j < *n; j++)
        KIND(swap_rows)(b, *ldb, *sides, j, pivots[j] - 1);
    for (extent j = 0; j < *sides; j++)
        KIND(substitute)(*n, a, *lda, (NUMBER *)b + (size_t)j * *ldb);
}

void KIND(getri)(const extent *n, void *a, const extent *lda, const extent *pivots, void *work, const extent *room,
                 extent *info)
{
    NUMBER *lu = a, *copy = work;
    *info = 0;
    if (*room < 0) {
        /* one row and column more, since a float may not hold the exact number */
        *copy = (NUMBER)(*n + 1) * (NUMBER)(*n + 1);
        return;
    }
    for (extent j = 0; j < *n; j++)
        if (lu[(size_t)j * *lda + j] == 0) {
            *info = j + 1;
            return;
        }
    for (extent j = 0; j < *n; j++)
        memcpy(copy + (size_t)j * *n, lu + (size_t)j * *lda, (size_t)*n * sizeof(NUMBER));
    for (extent j = 0; j < *n; j++) {
        memset(lu + (size_t)j * *lda, 0, (size_t)*n * sizeof(NUMBER));
        lu[(size_t)j * *lda + j] = 1;
    }
    for (extent j = 0; j < *n; j++)
        KIND(swap_rows)(lu, *lda, *n, j, pivots[j] - 1);
    for (extent j = 0; j < *n; j++)
        KIND(substitute)(*n, copy, *n, lu + (size_t)j * *lda);
}

/* The upper factor alone, which is the one that compiled code asks for. */
void KIND(potrf)(const char *uplo, const extent *n, void *a, const extent *lda, extent *info, length unused)
{
    (void)unused;
    (void)uplo;
    NUMBER *u = a;
    *info = 0;
    for (extent j = 0; j < *n; j++) {
        NUMBER *column = u + (size_t)j * *lda;
        for (extent i = 0; i < j; i++) {
            const NUMBER *other = u + (size_t)i * *lda;
            column[i] = (column[i] - KIND(sum_of_products)(i, other, 1, column, 1)) / other[i];
        }
        NUMBER rest = column[j] - KIND(sum_of_products)(j, column, 1, column, 1);
        if (!(rest > 0)) {
            *info = j + 1;
            return;
        }
        column[j] = (NUMBER)sqrt((double)rest);
    }
}

/* Rotations. */

/* Turn two vectors by the angle with this cosine and sine. */
static void KIND(rotate)(extent n, NUMBER *x, extent step_x, NUMBER *y, extent step_y, NUMBER cosine, NUMBER sine)
{
    for (extent i = 0; i < n; i++) {
        NUMBER first = x[(size_t)i * step_x], second = y[(size_t)i * step_y];
        x[(size_t)i * step_x] = cosine * first - sine * second;
        y[(size_t)i * step_y] = sine * first + cosine * second;
    }
}

/* Cosine and sine of the angle that makes a symmetric 2 x 2 matrix diagonal (Golub & Van Loan, 8.5.2). */
static void KIND(angle)(NUMBER first, NUMBER off, NUMBER second, NUMBER *cosine, NUMBER *sine)
{
    NUMBER tau = (second - first) / (2 * off);
    NUMBER size = (NUMBER)(1 / (fabs((double)tau) + sqrt(1 + (double)tau * (double)tau)));
    NUMBER tangent = tau < 0 ? -size : size;
    *cosine = (NUMBER)(1 / sqrt(1 + (double)tangent * (double)tangent));
    *sine = tangent * *cosine;
}

/* Eigenvalues in ascending order, and with 'V' their vectors, by Jacobi's method. */
void KIND(syevd)(const char *jobz, const char *uplo, const extent *n, void *a, const extent *lda, void *w, void *work,
                 const extent *room, extent *integers, const extent *integer_room, extent *info, length unused_a,
                 length unused_b)
{
    (void)unused_a;
    (void)unused_b;
    (void)integer_room;
    NUMBER *matrix = a, *values = w, *vectors = work;
    extent order = *n;
    *info = 0;
    if (*room < 0) {
        *vectors = (NUMBER)(order + 1) * (NUMBER)(order + 1);
        *integers = 1;
        return;
    }
    bool lower = *uplo == 'L' || *uplo == 'l';
    for (extent j = 0; j < order; j++)
        for (extent i = 0; i < order; i++) {
            if (lower ? i > j : i < j)
                matrix[(size_t)i * *lda + j] = matrix[(size_t)j * *lda + i];
            vectors[(size_t)j * order + i] = i == j;
        }
    for (extent round = 0;; round++) {
        double off = 0, all = 0;
        for (extent j = 0; j < order; j++)
            for (extent i = 0; i < order; i++) {
                double square = (double)matrix[(size_t)j * *lda + i] * (double)matrix[(size_t)j * *lda + i];
                all += square;
                off += i == j ? 0 : square;
            }
        if (off <= all * EPSILON * EPSILON)
            break;
        if (round == MOST_ROUNDS) {
            *info = 1;
            return;
        }
        for (extent p = 0; p < order; p++)
            for (extent q = p + 1; q < order; q++) {
                NUMBER entry = matrix[(size_t)q * *lda + p], cosine, sine;
                if (entry == 0)
                    continue;
                KIND(angle)(matrix[(size_t)p * *lda + p], entry, matrix[(size_t)q * *lda + q], &cosine, &sine);
                KIND(rotate)(order, matrix + (size_t)p * *lda, 1, matrix + (size_t)q * *lda, 1, cosine, sine);
                KIND(rotate)(order, matrix + p, *lda, matrix + q, *lda, cosine, sine);
                KIND(rotate)(order, vectors + (size_t)p * order, 1, vectors + (size_t)q * order, 1, cosine, sine);
            }
    }
    for (extent j = 0; j < order; j++)
        values[j] = matrix[(size_t)j * *lda + j];
    for (extent j = 0; j < order; j++) {
        extent smallest = j;
        for (extent i = j + 1; i < order; i++)
            if (values[i] < values[smallest])
                smallest = i;
        NUMBER kept = values[j];
        values[j] = values[smallest];
        values[smallest] = kept;
        for (extent i = 0; i < order && smallest != j; i++) {
            NUMBER *first = vectors + (size_t)j * order + i, *second = vectors + (size_t)smallest * order + i;
            NUMBER other = *first;
            *first = *second;
            *second = other;
        }
    }
    if (*jobz == 'V' || *jobz == 'v')
        for (extent j = 0; j < order; j++)
            memcpy(matrix + (size_t)j * *lda, vectors + (size_t)j * order, (size_t)order * sizeof(NUMBER));
}

/* The singular values of the columns of `x` (rows by columns, no fewer rows), by rotations of pairs of columns.
 *
 * x       becomes the left vectors, of length 1, or 0 where the singular value is 0
 * v       columns by columns; becomes the right vectors
 * values  in descending order
 * returns whether the rotations came to an end
 */
static bool KIND(one_sided)(extent rows, extent columns, NUMBER *x, NUMBER *v, NUMBER *values)
{
    for (extent j = 0; j < columns; j++)
        for (extent i = 0; i < columns; i++)
            v[(size_t)j * columns + i] = i == j;
    bool turned = true;
    for (extent round = 0; turned; round++) {
        if (round == MOST_ROUNDS)
            return false;
        turned = false;
        for (extent p = 0; p < columns; p++)
            for (extent q = p + 1; q < columns; q++) {
                NUMBER *first = x + (size_t)p * rows, *second = x + (size_t)q * rows, cosine, sine;
                NUMBER a = KIND(sum_of_products)(rows, first, 1, first, 1);
                NUMBER b = KIND(sum_of_products)(rows, second, 1, second, 1);
                NUMBER c = KIND(sum_of_products)(rows, first, 1, second, 1);
                if (fabs((double)c) <= 4 * EPSILON * sqrt((double)a) * sqrt((double)b) || c == 0)
                    continue;
                turned = true;
                KIND(angle)(a, c, b, &cosine, &sine);
                KIND(rotate)(rows, first, 1, second, 1, cosine, sine);
                KIND(rotate)(columns, v + (size_t)p * columns, 1, v + (size_t)q * columns, 1, cosine, sine);
            }
    }
    extent one = 1;
    for (extent j = 0; j < columns; j++) {
        values[j] = KIND(nrm2)(&rows, x + (size_t)j * rows, &one);
        for (extent i = 0; i < rows && values[j] > 0; i++)
            x[(size_t)j * rows + i] /= values[j];
    }
    for (extent j = 0; j < columns; j++) {
        extent largest = j;
        for (extent i = j + 1; i < columns; i++)
            if (values[i] > values[largest])
                largest = i;
        if (largest == j)
            continue;
        NUMBER kept = values[j];
        values[j] = values[largest];
        values[largest] = kept;
        /* a quarter of a turn swaps two vectors, up to the sign of one: of both its left and its right one */
        KIND(rotate)(rows, x + (size_t)j * rows, 1, x + (size_t)largest * rows, 1, 0, 1);
        KIND(rotate)(columns, v + (size_t)j * columns, 1, v + (size_t)largest * columns, 1, 0, 1);
    }
    return true;
}

/* The thin decomposition alone, which is the one that compiled code asks for. */
void KIND(gesdd)(const char *jobz, const extent *m, const extent *n, void *a, const extent *lda, void *s, void *u,
                 const extent *ldu, void *vt, const extent *ldvt, void *work, const extent *room, extent *integers,
                 extent *info, length unused)
{
    (void)unused;
    (void)jobz;
    (void)integers;
    bool wide = *m < *n;
    extent rows = wide ? *n : *m, columns = wide ? *m : *n;
    NUMBER *matrix = a, *x = work, *v = x + (size_t)rows * columns;
    *info = 0;
    if (*room < 0) {
        *x = (NUMBER)(rows + columns + 1) * (NUMBER)(columns + 1);
        return;
    }
    for (extent j = 0; j < columns; j++)
        for (extent i = 0; i < rows; i++)
            x[(size_t)j * rows + i] = wide ? matrix[(size_t)i * *lda + j] : matrix[(size_t)j * *lda + i];
    *info = !KIND(one_sided)(rows, columns, x, v, s);
    const NUMBER *left = wide ? v : x, *right = wide ? x : v;
    extent left_rows = wide ? columns : rows, right_rows = wide ? rows : columns;
    for (extent j = 0; j < columns; j++) {
        for (extent i = 0; i < left_rows; i++)
            ((NUMBER *)u)[(size_t)j * *ldu + i] = left[(size_t)j * left_rows + i];
        for (extent i = 0; i < right_rows; i++)
            ((NUMBER *)vt)[(size_t)i * *ldvt + j] = right[(size_t)j * right_rows + i];
    }
}
