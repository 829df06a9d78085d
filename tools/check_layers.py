"""Check that imports inside the project point down the list of layers, and form no cycle.

    python -m tools.check_layers

A module may import what stands in its own layer or in a lower one.  Imports inside functions
count; those under `if TYPE_CHECKING:` do not.  The runtime package imports nothing of the compiler.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# highest first; a name is a module or a folder of `tapec`
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("bridge", "dask", "diagnosis", "jax", "labelled", "pytensor", "scipy", "sklearn", "torch"),
    ("__init__",),
    ("build",),
    (
        *("api", "bound", "captured", "check", "composed", "explanation", "functions", "gradient_tape", "jacobians"),
        *("implicit", "jitted_calls", "linear_map", "loading", "plain_functions", "product_functions", "products"),
        *("batching", "signatures", "sparse", "sparsity_pattern", "structure"),
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
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# the folders of a layer that point one way among themselves, highest first; its own modules stand above them
FOLDERS: dict[str, tuple[str, ...]] = {
    "frontend": (
        *("calls", "library", "statements", "expressions", "iteration"),
        *("arrays", "structures", "operations", "evaluator", "source"),
    ),
}
COMPILER, RUNTIME = "tapec", "tapec_runtime"


@dataclass(frozen=True)
class Import:
    """One import statement's effect: a module that needs another one."""

    importer: str
    imported: str
    where: str


def modules(folder: Path) -> dict[str, Path]:
    """Dotted name -> file, for every module of an import package; a package's name ends in `__init__`."""
    root = folder.parent
    return {".".join(path.relative_to(root).with_suffix("").parts): path for path in sorted(folder.rglob("*.py"))}


def imports(known: dict[str, Path]) -> list[Import]:
    """What the modules import from one another and from the compiler."""
    found = []
    for name, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        for node in statements(tree):
            for target in targets(node, name, known):
                if target != name:
                    found.append(Import(name, target, f"{path}:{node.lineno}"))
    return found


def statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that run."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for alternative in node.orelse:
                yield from statements(alternative)
        elif not isinstance(node, ast.expr):
            yield from statements(node)


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


def layer(module: str) -> str:
    """The part of a compiler module's name that stands in `LAYERS`."""
    return module.split(".")[1] if "." in module else "__init__"


def folder(module: str) -> str | None:
    """The folder of a module inside a layer of `FOLDERS`; empty for the layer's own modules, None elsewhere."""
    _, *inside = module.split(".")
    if not inside or inside[0] not in FOLDERS:
        return None
    return inside[1] if len(inside) > 2 else ""


def against_folders(arrow: Import) -> str | None:
    """What is wrong with an import inside a layer of `FOLDERS`; None if it points down."""
    importer, imported = folder(arrow.importer), folder(arrow.imported)
    if importer is None or imported is None or layer(arrow.importer) != layer(arrow.imported):
        return None
    order = ("", *FOLDERS[layer(arrow.importer)])
    if importer == imported or (importer in order and imported in order[order.index(importer) :]):
        return None
    return f"{arrow.where}: {importer} imports {imported or 'what stands above all folders'} ({arrow.imported})"


def violations(compiler: Path, runtime: Path) -> list[str]:
    """What is wrong, one sentence each; empty if all imports point down."""
    known = modules(compiler) | modules(runtime)
    complaints = [
        f"{path}: `{layer(name)}` stands in no layer; add it to tools/check_layers.py"
        for name, path in known.items()
        if name.startswith(f"{COMPILER}.") and layer(name) not in LEVEL
    ]
    arrows = imports(known)
    for arrow in arrows:
        importer_root, imported_root = arrow.importer.split(".")[0], arrow.imported.split(".")[0]
        if importer_root == RUNTIME and imported_root == COMPILER:
            complaints.append(f"{arrow.where}: the runtime imports {arrow.imported} of the compiler")
        elif importer_root == imported_root == COMPILER:
            above, below = layer(arrow.importer), layer(arrow.imported)
            if LEVEL.get(below, len(LAYERS)) < LEVEL.get(above, 0):
                complaints.append(f"{arrow.where}: {above} imports {below}, which stands above it ({arrow.imported})")
            elif (complaint := against_folders(arrow)) is not None:
                complaints.append(complaint)
    return complaints + cycles(arrows)


def cycles(arrows: list[Import]) -> list[str]:
    """A sentence for a chain of imports that comes back to where it began."""
    graph: dict[str, set[str]] = {}
    for arrow in arrows:
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
