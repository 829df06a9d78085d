"""What a generated function looks like from C: the parameters of its entry, leaf by leaf.

A Python argument is a tree whose leaves are numbers and arrays, and so is what the function
returns.  Each leaf of an argument is one `Parameter`: a number by value, an array as a pointer with
extents and, unless it is contiguous by its type, strides.  Each leaf of the result is one `Result`:
a pointer to the caller's memory, or, where its shape is known only afterwards, to a pointer that
receives memory from malloc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tapec.backend.program import resolve_wrt
from tapec.build.boundary_values import Block, Foreign, Form, Nothing, Number, Sequence, form_of
from tapec.errors import UnsupportedType

if TYPE_CHECKING:
    from tapec.build.build_target import DerivedTarget

C_TYPES = {
    "float64": "double",
    "float32": "float",
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
# reserved in C or C++, or what entries call things in their bodies
_C_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        auto break case char const continue default do double else enum extern float for goto if inline int long
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
        while bool true false class new delete this template typename namespace operator private public protected
        virtual asm catch throw try using and or not xor int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t
        uint64_t main errno NULL linux unix
        status result raised failure free memcmp LOCAL PREFIX EXPORTED
        """,
    )
)

# of the names that belong to an array, in an entry's declaration and in its body
_ENDS = ("", "_shape", "_strides", "_count", "_steps")


@dataclass(frozen=True)
class ParameterGroup:
    """A tuple of leaves and tuples.

    items   trees
    fields  the names of its items if it is a named tuple
    name    the name of the named tuple's class
    """

    items: tuple[Tree, ...]
    fields: tuple[str, ...] = ()
    name: str = ""


# None where there is nothing (Python's None); an int is a position in `parameters` or `results`
Tree = ParameterGroup | int | None


@dataclass(frozen=True)
class InterfaceLeaf:
    """A number or an array that crosses the border to C.

    name    its name in C
    label   what the user calls it, such as `point.x`, `weights[0]` or `gradient by point.x`
    dtype   NumPy's name of the element type
    rank    number of axes; a number has rank 0 and `array` false
    layout  "C", "F", or "A" for any strides
    array   whether it is an array
    like    position of the parameter whose shape it has; None if it may have any
    """

    name: str
    label: str
    dtype: str
    rank: int = 0
    layout: str = "C"
    array: bool = False
    like: int | None = None


@dataclass(frozen=True)
class Parameter(InterfaceLeaf):
    """A leaf of the arguments; an array is passed as a pointer.

    written  whether the function may store into it
    """

    written: bool = False

    @property
    def strided(self) -> bool:
        """Whether strides are passed, too."""
        return self.array and self.layout == "A" and self.rank > 0

    @property
    def declarations(self) -> tuple[str, ...]:
        """The C parameters that pass it."""
        kind = C_TYPES[self.dtype]
        if not self.array:
            return (f"{kind} {self.name}",)
        out = [f"{'' if self.written else 'const '}{kind} *{self.name}"]
        if self.rank:
            out.append(f"const int64_t {self.name}_shape[{self.rank}]")
        if self.strided:
            out.append(f"const int64_t {self.name}_strides[{self.rank}]")
        return tuple(out)


@dataclass(frozen=True)
class Result(InterfaceLeaf):
    """A leaf of what the function returns, delivered in the order of its layout, "C" or "F".

    An array like a parameter goes to memory that the caller supplies; the entry allocates any other with
    malloc and tells its shape.
    """

    @property
    def allocated(self) -> bool:
        """Whether the entry allocates the memory, which the caller then owns and frees with `free`."""
        return self.array and self.like is None

    @property
    def declarations(self) -> tuple[str, ...]:
        """The C parameters that receive it."""
        kind = C_TYPES[self.dtype]
        if not self.allocated:
            return (f"{kind} *{self.name}",)
        shape = (f"int64_t {self.name}_shape[{self.rank}]",) if self.rank else ()
        return (f"{kind} **{self.name}", *shape)


@dataclass(frozen=True)
class Interface:
    """The C entry of one generated function.

    entry       its name
    parameters  leaves of the arguments, in the order of C parameters
    results     leaves of the result, whose C parameters follow
    arguments   Python parameter -> tree of positions in `parameters`
    returned    tree of positions in `results`
    """

    entry: str
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    arguments: tuple[tuple[str, Tree], ...]
    returned: Tree

    @property
    def declarations(self) -> tuple[str, ...]:
        """All C parameters in order."""
        leaves: tuple[Parameter | Result, ...] = (*self.parameters, *self.results)
        return tuple(text for leaf in leaves for text in leaf.declarations)

    @property
    def prototype(self) -> str:
        """The entry's declaration in C, without the semicolon.

        >>> x, y = Parameter("x", "x", "float64"), Result("value", "value", "float64")
        >>> Interface("square", (x,), (y,), (("x", 0),), 0).prototype
        'int square(double x, double *value)'
        """
        return f"int {self.entry}({', '.join(self.declarations) or 'void'})"


def interface_of(derived: DerivedTarget, returned: Form) -> Interface:
    """The interface of a generated function.

    returned  the form of what the function returns
    raises    UnsupportedType for an argument or a result that has no form in C
    """
    return _Maker(derived, returned).interface()


def gradient_sources(derived: DerivedTarget) -> tuple[Parameter, ...]:
    """The sources of the last results of a function, one by one; empty if its results are no gradients.

    raises  UnsupportedType for an argument that has no form in C
    """
    maker = _Maker(derived, Nothing())
    _, sources, _ = maker.leading()
    if derived.target.mode not in ("grad", "value_and_grad", "vjp", "hvp", "gnvp", "hessian_diag"):
        return ()
    return tuple(maker.parameters[leaf] for source in sources for leaf in leaves_of(source))


class _Maker:
    """Names the leaves of one function."""

    def __init__(self, derived: DerivedTarget, returned: Form) -> None:
        self.derived = derived
        self.returned = returned
        self.parameters: list[Parameter] = []
        self.results: list[Result] = []
        self.taken: set[str] = set()

    def interface(self) -> Interface:
        arguments, sources, single = self.leading()
        returned = self.result(self.derived.target.mode, sources, single)
        entry = self.derived.program.name
        return Interface(entry, tuple(self.parameters), tuple(self.results), tuple(arguments), returned)

    def leading(self) -> tuple[list[tuple[str, Tree]], list[Tree], bool]:
        """The arguments' trees, those of the sources, and whether `wrt` named a single one."""
        program, target = self.derived.program, self.derived.target
        written = program.lowered.written
        arguments: list[tuple[str, Tree]] = []
        for label, kind in zip(program.params, self.derived.arguments, strict=True):
            arguments.append((label, self.argument(form_of(kind), label, label)))
        # the leaves of the function's own arguments come first, in the order of its core parameters
        for k, name in enumerate(program.lowered.function.params):
            self.parameters[k] = replace(self.parameters[k], written=name in written and self.parameters[k].array)
        if target.mode == "primal":
            return arguments, [], True
        trees = dict(arguments)
        positions, single = resolve_wrt(self.derived.function, target.wrt)
        sources = [trees[program.params[p]] for p in positions]
        self.tie(target.mode, arguments, sources)
        return arguments, sources, single

    def tie(self, mode: str, arguments: list[tuple[str, Tree]], sources: list[Tree]) -> None:
        """Tangents, and the vector of `hvp`, have the shapes of their sources."""
        if mode not in ("jvp", "hvp", "gnvp"):
            return
        own = sum(len(list(leaves_of(tree))) for _, tree in arguments[: self.derived.own])
        leaves = list(dict.fromkeys(leaf for source in sources for leaf in leaves_of(source)))
        for k, leaf in zip(range(own, len(self.parameters)), leaves, strict=True):
            # what the function writes into a source, it writes into its tangent, too
            source = self.parameters[leaf]
            self.parameters[k] = replace(self.parameters[k], like=leaf, written=source.written)

    def fresh(self, name: str) -> str:
        """A C name that no other parameter has, with all that is derived from it; Fortran ignores case."""
        name = c_name(name)
        while self.taken & {name.lower() + end for end in _ENDS}:
            name += "_"
        self.taken |= {name.lower() + end for end in _ENDS}
        return name

    def argument(self, form: Form, name: str, label: str) -> Tree:
        """The leaves of one argument."""
        if isinstance(form, Nothing):
            return None
        if isinstance(form, Sequence):
            items = tuple(self.argument(item, inner, text) for item, inner, text in _parts(form, name, label))
            return ParameterGroup(items, form.fields, form.name)
        leaf = self.checked(form, f"the argument `{label}`")
        rank, layout = (leaf.rank, leaf.layout) if isinstance(leaf, Block) else (0, "C")
        self.parameters.append(Parameter(self.fresh(name), label, leaf.dtype, rank, layout, isinstance(leaf, Block)))
        return len(self.parameters) - 1

    def result(self, mode: str, sources: list[Tree], single: bool) -> Tree:
        """The leaves of what is returned, named after what they are."""
        if mode in ("value_and_grad", "jvp", "vjp"):
            value_form, second = _items(self.returned)
            value = self.leaf(value_form, "value", "value", None)
            if mode == "jvp":
                return ParameterGroup((value, self.leaf(second, "tangent", "tangent", None)))
            return ParameterGroup((value, self.gradients(second, sources, single, "grad", "gradient")))
        if mode == "grad":
            return self.gradients(self.returned, sources, single, "grad", "gradient")
        if mode in ("hvp", "gnvp"):
            return self.gradients(self.returned, sources, single, "product", "product")
        if mode == "hessian_diag":
            return self.gradients(self.returned, sources, single, "diagonal", "diagonal")
        name = "value" if mode == "primal" else "block"
        return self.leaf(self.returned, name, name, None)

    def gradients(self, form: Form, sources: list[Tree], single: bool, suffix: str, what: str) -> Tree:
        """Results in the structure of the sources."""
        if single:
            return self.like(form, sources[0], suffix, what)
        pairs = zip(_items(form), sources, strict=True)
        return ParameterGroup(tuple(self.like(item, source, suffix, what) for item, source in pairs))

    def like(self, form: Form, source: Tree, suffix: str, what: str) -> Tree:
        """The results for one source."""
        if isinstance(source, ParameterGroup):
            pairs = zip(_items(form), source.items, strict=True)
            return replace(source, items=tuple(self.like(item, inner, suffix, what) for item, inner in pairs))
        assert isinstance(source, int)
        parameter = self.parameters[source]
        return self.leaf(form, f"{parameter.name}_{suffix}", f"{what} by `{parameter.label}`", source)

    def leaf(self, form: Form, name: str, label: str, like: int | None) -> Tree:
        """One result, or a tuple of results."""
        if isinstance(form, Nothing):
            return None
        if isinstance(form, Sequence):
            items = tuple(self.leaf(item, inner, text, like) for item, inner, text in _parts(form, name, label))
            return ParameterGroup(items, form.fields, form.name)
        leaf = self.checked(form, f"the result ({label})")
        array = isinstance(leaf, Block)
        layout = "F" if like is not None and self.parameters[like].layout == "F" else "C"
        rank = leaf.rank if isinstance(leaf, Block) else 0
        self.results.append(Result(self.fresh(name), label, leaf.dtype, rank, layout, array, like if array else None))
        return len(self.results) - 1

    def checked(self, form: Form, what: str) -> Number | Block:
        """The form of a leaf; raises UnsupportedType if C has none for it."""
        from tapec.frontend.source.function_source import definition

        if isinstance(form, Number | Block) and form.dtype in C_TYPES:
            return form
        text = form.text if isinstance(form, Foreign) else str(form)
        function = self.derived.function
        raise UnsupportedType(
            f"{what} of `{function.__name__}` has type {text}, which has no form in C",
            definition(function),
            hint="numbers, arrays of numbers, and tuples of those can be built ahead of time",
        )


def _items(form: Form) -> tuple[Form, ...]:
    assert isinstance(form, Sequence)
    return form.items


def _parts(form: Sequence, name: str, label: str) -> Iterator[tuple[Form, str, str]]:
    """The items of a tuple, with the name and the label of each."""
    for k, item in enumerate(form.items):
        if form.fields:
            yield item, f"{name}_{form.fields[k]}", f"{label}.{form.fields[k]}"
        else:
            yield item, f"{name}_{k}", f"{label}[{k}]"


def leaves_of(tree: Tree) -> Iterator[int]:
    """The positions in a tree, in order."""
    if isinstance(tree, ParameterGroup):
        for item in tree.items:
            yield from leaves_of(item)
    elif tree is not None:
        yield tree


def c_name(name: str) -> str:
    """An identifier of C, C++ and Fortran, as near to a Python name as may be.

    >>> c_name("x"), c_name("double"), c_name("_x"), c_name("θ")
    ('x', 'double_', 'p_x', 'u03b8')
    """
    plain = "".join(ch if ch.isascii() else f"u{ord(ch):04x}" for ch in name)
    if plain.startswith("_"):
        plain = f"p{plain}"
    return f"{plain}_" if plain in _C_WORDS else plain
