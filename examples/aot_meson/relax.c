/* Find how far a chain of springs is stretched, by descent along the gradient of its energy. */
#include "chain.h"

#include <math.h>
#include <stdio.h>

#define N 5

int main(void)
{
    double u[N] = {0.0}, gradient[N], value;
    const int64_t n[1] = {N};
    const double stiffness = 2.0, load = 0.1;
    for (int iteration = 0; iteration < 2000; iteration++) {
        int status = energy_value_and_grad(u, n, stiffness, load, &value, gradient);
        if (status != chain_OK) {
            fprintf(stderr, "%s\n", chain_error(status));
            return 1;
        }
        for (int k = 0; k < N; k++)
            u[k] -= 0.2 * gradient[k];
    }
    printf("%.6f\n", u[N - 1]);
    /* each spring is stretched by the load over its stiffness */
    return fabs(u[N - 1] - N * load / stiffness) < 1e-9 ? 0 : 1;
}
