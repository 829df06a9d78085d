// Calls entries of the test library from C++, from several threads; prints "done".
#include "cases.h"

#include <cmath>
#include <iostream>
#include <thread>
#include <vector>

int main()
{
    std::vector<int> wrong(8, 1);
    std::vector<std::thread> threads;
    for (int k = 0; k < 8; k++)
        threads.emplace_back([&wrong, k] {
            std::vector<double> x(100, 0.1 * k), v(100, 1.0), product(100);
            const std::int64_t shape[1] = {100};
            for (int iteration = 0; iteration < 20; iteration++)
                if (oscillator_hvp(x.data(), shape, nullptr, v.data(), shape, nullptr, product.data()) != cases_OK)
                    return;
            // the second derivative of exp(-x) cos(x)
            wrong[k] = std::abs(product[99] - 2 * std::exp(-0.1 * k) * std::sin(0.1 * k)) > 1e-12;
        });
    for (auto &thread : threads)
        thread.join();
    for (int one : wrong)
        if (one)
            return 1;
    std::cout << "done" << std::endl;
}
