"""Check that imports inside the project point down the list of layers, and form no cycle.

    python -m tools.check_layers

A module may import what stands in its own layer or in a lower one; so it is among the folders of a layer that is
divided itself, where different folders of one level import nothing of one another.  Imports inside functions count,
and so do those for annotations, under `if TYPE_CHECKING:`; only these may form a cycle.  The runtime package imports
nothing of the compiler.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Layers = tuple[tuple[str, ...], ...]

# highest first; a name is a module or a folder of `tapec`
LAYERS: Layers = (
    ("__main__",),
    ("cli",),
    (
        *("bridge", "dask", "diagnosis", "jax", "jax_handlers", "labelled", "ode", "ode_calls", "ode_rates"),
        *("ode_rules", "ode_steps", "pytensor", "scipy", "sklearn", "torch"),
    ),
    ("__init__",),
    ("build",),
    (
        *("api", "bound", "captured", "check", "composed", "debugging", "expansions", "explanation", "functions"),
        *("gradient_tape", "jacobians", "implicit", "jitted_calls", "linear_map", "loading", "plain_functions"),
        *("product_functions", "products", "batching", "linear_solves", "signatures", "sparse"),
        *("sparse_source", "sparsity_pattern", "structure"),
    ),
    ("tape",),
    ("pipeline", "kinds", "finishing", "results"),
    ("backend",),
    ("optimise",),
    ("transforms",),
    ("analyses",),
    ("frontend",),
    ("rules",),
    ("syntax",),
    ("callables", "errors", "remarks", "on_demand", "options", "version"),
)
# the folders of a layer that have layers among themselves
ROOMS: dict[str, Layers] = {
    "frontend": (
        *(("__init__",), ("assumed_extents",), ("lower",), ("full_evaluator",)),
        *(("calls",), ("library",), ("statements",), ("expressions",), ("iteration",)),
        *(("arrays",), ("structures",), ("operations",), ("evaluator",), ("source",)),
    ),
    "optimise": (
        ("__init__",),
        ("passes",),
        ("contractions", "vectors"),
        ("loops",),
        ("shapes",),
        ("buffers",),
        ("simplify",),
        ("driver", "rewriter"),
        ("name_origins", "thread_flags", "vector_operations"),
        ("costs",),
    ),
    "tape": (
        ("__init__",),
        ("answers", "compiled_functions", "custom_derivatives"),
        ("plan",),
        ("block", "run"),
        ("objects",),
        ("derivatives",),
    ),
}
COMPILER, RUNTIME = "tapec", "tapec_runtime"


@dataclass(frozen=True)
class Import:
    """One import statement's effect: a module that needs another one, if only for annotations."""

    importer: str
    imported: str
    where: str
    annotates: bool = False


def modules(folder: Path) -> dict[str, Path]:
    """Dotted name -> file, for every module of an import package; a package's name ends in `__init__`."""
    root = folder.parent
    return {".".join(path.relative_to(root).with_suffix("").parts): path for path in sorted(folder.rglob("*.py"))}


def imports(known: dict[str, Path]) -> list[Import]:
    """What the modules import from one another and from the compiler."""
    found = []
    for name, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for node, annotates in statements(tree):
            for target in targets(node, name, known):
                if target != name:
                    found.append(Import(name, target, f"{path}:{node.lineno}", annotates))
    return found


def statements(tree: ast.AST, annotates: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements, and whether they are for annotations."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, annotates
        elif not isinstance(node, ast.expr):
            checked = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            yield from statements(node, annotates or checked)


def targets(node: ast.Import | ast.ImportFrom, importer: str, known: dict[str, Path]) -> Iterator[str]:
    """The modules of the two packages that a statement imports."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            parent = importer.split(".")[: -node.level]
            base = ".".join([*parent, *([base] if base else [])])
        # `from package import module` needs the module; `from module import name` the module
        names = []
        for alias in node.names:
            whole = f"{base}.{alias.name}"
            names.append(whole if whole in known or f"{whole}.__init__" in known else base)
    for name in dict.fromkeys(names):
        if name.split(".")[0] in (COMPILER, RUNTIME):
            yield f"{name}.__init__" if f"{name}.__init__" in known else name


def part(module: str, package: str) -> str:
    """The module or folder of a package to which a module belongs."""
    return module.removeprefix(f"{package}.").split(".")[0]


def violations(compiler: Path, runtime: Path) -> list[str]:
    """What is wrong, one sentence each; empty if all imports point down."""
    known = modules(compiler) | modules(runtime)
    arrows = imports(known)
    complaints = [
        f"{arrow.where}: the runtime imports {arrow.imported} of the compiler"
        for arrow in arrows
        if arrow.importer.split(".")[0] == RUNTIME and arrow.imported.split(".")[0] == COMPILER
    ]
    complaints += upwards(COMPILER, LAYERS, known, arrows)
    for room, layers in ROOMS.items():
        complaints += upwards(f"{COMPILER}.{room}", layers, known, arrows, apart=True)
    return complaints + cycles(arrows)


def upwards(
    package: str, layers: Layers, known: dict[str, Path], arrows: list[Import], apart: bool = False
) -> list[str]:
    """The modules of a package that stand in no layer, and the imports in it that do not point down.

    apart  whether the parts of one layer import nothing of one another
    """
    inside = f"{package}."
    level = {name: number for number, names in enumerate(layers) for name in names}
    complaints = [
        f"{path}: `{part(name, package)}` stands in no layer; add it to tools/check_layers.py"
        for name, path in known.items()
        if name.startswith(inside) and part(name, package) not in level
    ]
    for arrow in arrows:
        if arrow.importer.startswith(inside) and arrow.imported.startswith(inside):
            above, below = part(arrow.importer, package), part(arrow.imported, package)
            if above != below and level.get(below, len(layers)) < level.get(above, 0) + apart:
                beside = level.get(below) == level.get(above)
                where = "beside" if beside else "above"
                complaints.append(f"{arrow.where}: {above} imports {below}, which stands {where} it ({arrow.imported})")
    return complaints


def cycles(arrows: list[Import]) -> list[str]:
    """A sentence for a chain of imports that comes back to where it began."""
    graph: dict[str, set[str]] = {}
    for arrow in arrows:
        if not arrow.annotates:
            graph.setdefault(arrow.importer, set()).add(arrow.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # graphlib lists a cycle from the imported to the importing module
        return ["a cycle of imports: " + " -> ".join(reversed(error.args[1]))]
    return []


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    root = Path(__file__).resolve().parent.parent
    complaints = violations(root / COMPILER, root / "runtime" / RUNTIME)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
