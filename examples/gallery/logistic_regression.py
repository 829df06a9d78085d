"""Statistics: logistic regression by Newton's method.

The data are scikit-learn's breast cancer measurements: 569 tumours, 30 numbers each. The loss is a loop over tumours
with a ridge penalty. Newton's method with gradient and Hessian needs a few steps and finds the coefficients that
scikit-learn finds.
"""

import matplotlib.pyplot as plt
import numpy as np
from numba import njit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import tapec


@njit
def loss(w, x, y, ridge):
    """Minus the log-likelihood of labels 0 and 1; the last of `w` is the intercept, without a penalty."""
    total = 0.0
    for i in range(x.shape[0]):
        z = w[-1]
        for k in range(x.shape[1]):
            z += w[k] * x[i, k]
        total += np.logaddexp(0.0, z) - y[i] * z
    return total + 0.5 * ridge * np.sum(w[:-1] ** 2)


data = load_breast_cancer()
x, y = StandardScaler().fit_transform(data.data), data.target.astype(float)
w = np.zeros(31)
tapec.check_grads(loss, (w + 0.1, x, y, 1.0), wrt=0)

gradient, hessian = tapec.value_and_grad(loss), tapec.hessian(loss)
sizes = []
while not sizes or sizes[-1] > 1e-9:
    _, slope = gradient(w, x, y, 1.0)
    sizes.append(np.max(np.abs(slope)))
    w = w - np.linalg.solve(hessian(w, x, y, 1.0), slope)

reference = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(x, y)
expected = np.append(reference.coef_, reference.intercept_)
print(f"{len(sizes)} Newton steps; largest difference from scikit-learn {np.max(np.abs(w - expected)):.1e}")
assert np.allclose(w, expected, atol=1e-8)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
left.semilogy(range(1, len(sizes) + 1), sizes, "o-")
left.set_xlabel("Newton step")
left.set_title("largest entry of the gradient")
right.plot(expected, w, ".")
right.axline((0, 0), slope=1, color="k", lw=0.5)
right.set_xlabel("scikit-learn")
right.set_title("coefficients")
figure.savefig("logistic_regression.svg")
