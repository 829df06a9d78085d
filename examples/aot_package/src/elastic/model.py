"""The function that is differentiated when the package is built."""


def energy(u, stiffness, load):
    """Energy of a chain of springs that hangs between two walls.

    u          displacements of the joints, (n,)
    stiffness  of the springs between walls and joints, (n + 1,)
    load       force on each joint, (n,)
    """
    if stiffness.shape[0] != u.shape[0] + 1 or load.shape[0] != u.shape[0]:
        raise ValueError("n joints need n loads and n + 1 springs")
    total = 0.0
    left = 0.0
    for i in range(u.shape[0]):
        stretch = u[i] - left
        total += 0.5 * stiffness[i] * stretch**2 + 0.25 * stretch**4 - load[i] * u[i]
        left = u[i]
    return total + 0.5 * stiffness[u.shape[0]] * left**2 + 0.25 * left**4
