// The same from C++, with the static library.
#include "oscillation.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

std::array<double, 3> gradient(const std::array<double, 3> &p, const std::vector<double> &t,
                               const std::vector<double> &seen)
{
    const std::int64_t three[] = {3}, n[] = {std::int64_t(t.size())}, m[] = {std::int64_t(seen.size())};
    std::array<double, 3> found;
    double value;
    if (int status = misfit_value_and_grad(p.data(), three, t.data(), n, seen.data(), m, &value, found.data()))
        throw std::runtime_error(oscillation_error(status));
    return found;
}

int main()
{
    std::vector<double> t, seen;
    for (int i = 0; i < 40; i++) {
        t.push_back(0.05 * i);
        seen.push_back(2.0 * std::exp(-0.3 * t[i]) * std::cos(5.0 * t[i]));
    }
    std::array<double, 3> p = {1.5, 0.2, 4.9};
    for (int iteration = 0; iteration < 4000; iteration++) {
        auto slope = gradient(p, t, seen);
        for (int k = 0; k < 3; k++)
            p[k] -= 0.02 * slope[k];
    }
    std::printf("%.3f %.3f %.3f\n", p[0], p[1], p[2]);
    try {
        seen.pop_back();
        gradient(p, t, seen);
    } catch (const std::runtime_error &error) {
        std::puts(error.what());
    }
}
