/* Find amplitude, decay and frequency of an oscillation by descent along the gradient. */
#include "oscillation.h"

#include <math.h>
#include <stdio.h>

#define N 40

int main(void)
{
    double t[N], seen[N], p[3] = {1.5, 0.2, 4.9}, gradient[3], value;
    const int64_t three[1] = {3}, n[1] = {N};
    for (int i = 0; i < N; i++) {
        t[i] = 0.05 * i;
        seen[i] = 2.0 * exp(-0.3 * t[i]) * cos(5.0 * t[i]);
    }
    for (int iteration = 0; iteration < 4000; iteration++) {
        int status = misfit_value_and_grad(p, three, t, n, seen, n, &value, gradient);
        if (status != oscillation_OK) {
            fprintf(stderr, "%s\n", oscillation_error(status));
            return 1;
        }
        for (int k = 0; k < 3; k++)
            p[k] -= 0.02 * gradient[k];
    }
    printf("%.3f %.3f %.3f\n", p[0], p[1], p[2]);
    return 0;
}
