"""The function whose gradient the program uses."""


def energy(u, stiffness, load):
    """Energy of a chain of springs, which hangs from 0 and carries a load at its end.

    u          displacements of the joints, (n,)
    stiffness  of each spring
    load       the force at the last joint
    """
    total = 0.5 * stiffness * u[0] ** 2 - load * u[-1]
    for i in range(1, u.shape[0]):
        total += 0.5 * stiffness * (u[i] - u[i - 1]) ** 2
    return total
