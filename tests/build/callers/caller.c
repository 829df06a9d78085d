/* Calls entries of the test library from C; prints "done". */
#include "cases.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

int main(void)
{
    /* a tuple of sources, one of them in a named tuple */
    double x[3] = {0.0, 1.5, 2.0}, rest[2] = {1.0, 1.0}, value, x_grad[3], stiffness_grad, rest_grad[2];
    int64_t three[1] = {3}, two[1] = {2};
    int status = energy_value_and_grad(x, three, 2.0, rest, two, &value, x_grad, &stiffness_grad, rest_grad);
    check(status == cases_OK, cases_error(status));
    check(fabs(value - 0.5) < 1e-15, "value");
    check(x_grad[0] == -1.0 && x_grad[1] == 2.0 && x_grad[2] == -1.0, "gradient by x");
    check(stiffness_grad == 0.25 && rest_grad[0] == -1.0 && rest_grad[1] == 1.0, "gradient by spring");

    /* an exception */
    double gradient;
    status = newton_grad(-1.0, 1e-12, &gradient);
    check(strcmp(cases_error(status), "ValueError: a is negative: \"no\" real root */") == 0, "text of an exception");
    check(newton_grad(4.0, 1e-12, &gradient) == 0 && fabs(gradient - 3.0) < 1e-9, "stacks");

    /* an exception while there are arrays and lists */
    double much[2] = {1000.0, 1.0}, little[2] = {1.0, 1.0}, slope[2];
    status = fails_late_value_and_grad(much, two, &value, slope);
    check(strcmp(cases_error(status), "RuntimeError: too many steps") == 0, "a late exception");
    check(fails_late_value_and_grad(little, two, &value, slope) == 0, "after an exception");

    status = fails_below_value_and_grad(much, two, &value, slope);
    check(strcmp(cases_error(status), "RuntimeError: nothing below") == 0, "an exception from a call");

    /* strides: every second element, backwards */
    double data[5] = {1, -1, 2, -1, 3}, factor_grad, scaled[3];
    int64_t strides[1] = {-16};
    status = scale_in_place_value_and_grad(data + 4, three, strides, 2.0, &value, scaled, &factor_grad);
    check(status == 0 && value == 12.0 && factor_grad == 6.0 && data[0] == 2 && data[1] == -1, "strides");

    /* results that the entry allocates */
    double matrix[6] = {1, 2, 3, 4, 5, 6}, *head, *transposed, *outer;
    int64_t shape[2] = {2, 3}, head_shape[2], transposed_shape[2], outer_shape[2], rows;
    bool positive;
    status = several_primal(matrix, shape, NULL, 1, &head, head_shape, &transposed, transposed_shape, &rows, &outer,
                            outer_shape, &positive);
    check(status == 0 && head_shape[0] == 1 && head_shape[1] == 3 && head[2] == 6.0, "first result");
    check(transposed_shape[0] == 3 && transposed[1] == 4.0 && rows == 2 && positive, "more results");
    check(outer_shape[0] == 3 && outer[8] == 9.0, "last result");
    free(head);
    free(transposed);
    free(outer);
    check(several_primal(matrix, NULL, NULL, 1, &head, head_shape, &transposed, transposed_shape, &rows, &outer,
                         outer_shape, &positive) == cases_NULL_POINTER, "no shape");
    puts("done");
    return 0;
}
