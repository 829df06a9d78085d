"""Functions of whole vectors, in the machine code that calls them.

A library of machine code that is being compiled asks for functions that its vectorised loops may call.
They are linked to it before LLVM vectorises and inlined into the loops afterwards, as LLVM itself inlines
before it vectorises only.  What has been inlined everywhere is not made machine code of a second time;
other libraries that link this one find it all the same, since their loops may call it anew.

This rests on how Numba of today is built.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding


def attached(library: Any) -> Vectors | None:
    """What holds the functions of a library; None where Numba or llvmlite is built otherwise."""
    found: Vectors | None = getattr(library, "tapec_vectors", None)
    if found is None and _known(library):
        found = library.tapec_vectors = Vectors(library)
    return found


def _known(library: Any) -> bool:
    names = ("_optimize_final_module", "_get_module_for_linking", "_final_module", "_shared_module")
    return all(hasattr(library, name) for name in names)


def _inlines(codegen: Any) -> bool:
    """Whether what is inlined can be chosen; calls of the functions stay calls otherwise."""
    manager = getattr(binding, "ModulePassManager", None)
    return hasattr(manager, "add_always_inliner_pass") and hasattr(codegen, "_pass_builder")


class Vectors:
    """The functions of whole vectors that one library may call."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._definitions: dict[str, bytes] = {}
        self._optimise = library._optimize_final_module
        self._for_linking = library._get_module_for_linking
        library._optimize_final_module = self.optimise
        library._get_module_for_linking = self.for_linking

    def ask(self, name: str, bitcode: bytes) -> None:
        """Have a function at hand, which stands in a module of its own."""
        self._definitions[name] = bitcode

    def optimise(self) -> None:
        """What the library does to its module, with the functions in it, and then inline them."""
        module = self._library._final_module
        self._link_into(module)
        self._optimise()
        if not _inlines(self._library.codegen):
            return
        # Numba may have made another one
        module = self._library._final_module
        for name in self._definitions:
            # inlined everywhere, it is dropped
            module.get_function(name).linkage = "linkonce_odr"
        passes = binding.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.run(module, self._library.codegen._pass_builder())

    def for_linking(self) -> Any:
        """The module that other libraries link, with the functions that its calls name."""
        if self._library._shared_module is None:
            module = self._for_linking()
            module = module.clone() if module is self._library._final_module else module
            self._link_into(module)
            self._library._shared_module = module
        return self._library._shared_module

    def _link_into(self, module: Any) -> None:
        for bitcode in self._definitions.values():
            module.link_in(binding.parse_bitcode(bitcode))


def compiled(codegen: Any, module: Any) -> bytes:
    """The bitcode of a module of llvmlite's, simplified."""
    parsed = binding.parse_assembly(str(module))
    parsed.verify()
    if _inlines(codegen):
        builder = codegen._pass_builder()
        passes = builder.getFunctionPassManager()
        for function in parsed.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    return bytes(parsed.as_bitcode())
