"""The C text of one signature of a Python function, over a C entry.

The function reads its arguments into C values (`p0`, `p1`, ... in the order of the entry's
parameters; arrays by views of their buffers), makes arrays for results of known shape, calls the
entry without the interpreter's lock, and packs the results (`r0`, `r1`, ...).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapec.build.interface import C_TYPES, Interface, Parameter, ParameterGroup, Result, Tree
from tapec.build.python_signature import REQUIRED, Prototype, parts

INDENT = "    "


@dataclass(frozen=True)
class Wrapper:
    """One signature of a function of the module.

    number      its place among all signatures; part of C names
    prototype   the Python function
    """

    number: int
    prototype: Prototype

    @property
    def interface(self) -> Interface:
        return self.prototype.interface

    @property
    def text(self) -> str:
        """The function, with its tables before it."""
        return "\n".join([*self.tables(), *self.function()])

    def tables(self) -> Iterator[str]:
        """What the function expects of its arguments, as constants."""
        yield f"extern {self.interface.prototype};"
        yield ""
        labels = self.prototype.labels
        for k, leaf in enumerate(self.interface.parameters):
            if leaf.array:
                kind = np.dtype(leaf.dtype)
                fields = (
                    c_string(self.prototype.name), c_string(labels[k]), c_string(leaf.dtype), f"'{kind.kind}'",
                    f"'{leaf.layout}'", str(kind.itemsize), str(leaf.rank), "true" if leaf.written else "false",
                )  # fmt: skip
                yield f"static const Array array_{self.number}_{k} = {{{', '.join(fields)}}};"
        yield ""

    def function(self) -> Iterator[str]:
        parameters, results = self.interface.parameters, self.interface.results
        yield "/* `*fits` becomes true when all arguments have been read. */"
        yield f"static PyObject *run_{self.number}(PyObject *module, PyObject *const *given, bool *fits)"
        yield "{"
        body: list[str] = ["State *state = PyModule_GetState(module);"]
        tuples = sum(_groups(one.tree) for one in self.prototype.arguments)
        if tuples:
            body.append(f"PyObject *kept[{tuples}] = {{NULL}};")
        arrays = [k for k, leaf in enumerate(parameters) if leaf.array]
        if arrays:
            body.append(f"Py_buffer views[{len(arrays)}];")
            body.append("int held = 0;")
        for k, leaf in enumerate(parameters):
            kind = C_TYPES[leaf.dtype]
            body.append(f"Py_buffer *p{k} = &views[{arrays.index(k)}];" if leaf.array else f"{kind} p{k};")
        for k, result in enumerate(results):
            body += _result_variables(k, result)
        body += ["PyObject *answer = NULL;", "int status;", ""]
        counter = iter(range(tuples))
        for place, argument in enumerate(self.prototype.arguments):
            body += self.read(f"given[{place}]", argument.name, argument.tree, argument.default, counter)
        body += self.shapes()
        body += ["if (fits != NULL)", f"{INDENT}*fits = true;"]
        for k, result in enumerate(results):
            if result.like is not None:
                body.append(f"if ({_new(k, result)} == NULL)")
                body.append(f"{INDENT}goto done;")
        body += ["", "Py_BEGIN_ALLOW_THREADS", f"status = {self.interface.entry}({', '.join(self.passed())});"]
        body += ["Py_END_ALLOW_THREADS", "if (status != 0)"]
        body.append(f"{INDENT}raise_status({c_string(self.prototype.name)}, status);")
        body += ["else", f"{INDENT}answer = {self.packed(self.interface.returned)};", ""]
        yield from (f"{INDENT}{line}" if line else "" for line in body)
        # every way from here on passes what was taken hold of
        yield "done:"
        for line in self.released(bool(arrays), tuples):
            yield f"{INDENT}{line}"
        yield f"{INDENT}return answer;"
        yield "}"

    def read(self, given: str, label: str, tree: Tree, default: Any, counter: Iterator[int]) -> Iterator[str]:
        """Read an argument, which is NULL where its default applies."""
        if default is REQUIRED:
            yield from self.item(given, label, tree, counter)
            return
        lines = list(self.item(given, label, tree, counter))
        if not lines:
            return
        yield f"if ({given} != NULL) {{"
        yield from (f"{INDENT}{line}" for line in lines)
        yield "} else {"
        yield from (f"{INDENT}{line}" for line in self.defaults(tree, default))
        yield "}"

    def item(self, source: str, label: str, tree: Tree, counter: Iterator[int]) -> Iterator[str]:
        """Read one argument, or one item of a tuple."""
        where = f"{c_string(self.prototype.name)}, {c_string(label)}"
        if tree is None:
            yield f"if (!read_none({source}, {where}))"
            yield f"{INDENT}goto done;"
        elif isinstance(tree, ParameterGroup):
            place = next(counter)
            yield f"if (read_items({source}, {where}, {len(tree.items)}, &kept[{place}]) == NULL)"
            yield f"{INDENT}goto done;"
            for k, (inner, item) in enumerate(parts(label, tree)):
                yield from self.item(f"PyTuple_GetItem(kept[{place}], {k})", inner, item, counter)
        elif self.interface.parameters[tree].array:
            yield f"if (!read_array(state, {source}, &array_{self.number}_{tree}, p{tree}))"
            yield f"{INDENT}goto done;"
            yield "held++;"
        else:
            yield from _number(source, where, tree, self.interface.parameters[tree])

    def defaults(self, tree: Tree, value: Any) -> Iterator[str]:
        """Set the leaves of an argument that was left out."""
        if isinstance(tree, ParameterGroup):
            for item, inner in zip(tree.items, value, strict=True):
                yield from self.defaults(item, inner)
        elif tree is not None:
            yield f"p{tree} = {c_constant(value, self.interface.parameters[tree].dtype)};"

    def shapes(self) -> Iterator[str]:
        """Refuse tangents of another shape than what they belong to."""
        labels = self.prototype.labels
        for k, leaf in enumerate(self.interface.parameters):
            if leaf.array and leaf.like is not None and leaf.rank:
                names = f"{c_string(self.prototype.name)}, {c_string(labels[k])}"
                yield f"if (!same_shape({names}, p{k}, {c_string(labels[leaf.like])}, p{leaf.like}))"
                yield f"{INDENT}goto done;"

    def passed(self) -> Iterator[str]:
        """The arguments of the entry."""
        for k, leaf in enumerate(self.interface.parameters):
            if not leaf.array:
                yield f"p{k}"
                continue
            yield f"p{k}->buf"
            if leaf.rank:
                yield f"(const int64_t *)p{k}->shape"
            if leaf.strided:
                yield f"(const int64_t *)p{k}->strides"
        for k, result in enumerate(self.interface.results):
            if not result.array or result.allocated:
                yield f"&r{k}"
                if result.allocated and result.rank:
                    yield f"shape{k}"
            else:
                yield f"r{k}"

    def packed(self, tree: Tree) -> str:
        """The Python object of a result; the arrays that were made for it are handed over."""
        if tree is None:
            return "Py_NewRef(Py_None)"
        if isinstance(tree, ParameterGroup):
            packed = f"pack({', '.join([str(len(tree.items)), *map(self.packed, tree.items)])})"
            return f'named(module, "{tree.name}", {packed})' if tree.name else packed
        result = self.interface.results[tree]
        if result.allocated:
            itemsize = np.dtype(result.dtype).itemsize
            shape = f"shape{tree}" if result.rank else "NULL"
            what = f"\"{result.dtype}\", {itemsize}, '{result.layout}', {result.rank}"
            return f"copied_array(state, {what}, {shape}, r{tree})"
        if result.array:
            return f"Py_NewRef(made{tree})"
        kind = np.dtype(result.dtype).kind
        make = {"f": "PyFloat_FromDouble", "i": "PyLong_FromLongLong", "u": "PyLong_FromUnsignedLongLong"}
        return f"{make.get(kind, 'PyBool_FromLong')}(r{tree})"

    def released(self, arrays: bool, tuples: int) -> Iterator[str]:
        """Give back what the call has taken hold of."""
        if arrays:
            yield "while (held > 0)"
            yield f"{INDENT}PyBuffer_Release(&views[--held]);"
        if tuples:
            yield f"for (int k = 0; k < {tuples}; k++)"
            yield f"{INDENT}Py_XDECREF(kept[k]);"
        for k, result in enumerate(self.interface.results):
            if result.allocated:
                yield f"free(r{k});"
            elif result.array:
                yield f"Py_XDECREF(made{k});"


def _groups(tree: Tree) -> int:
    """The number of tuples in a tree."""
    return 1 + sum(map(_groups, tree.items)) if isinstance(tree, ParameterGroup) else 0


def _result_variables(k: int, result: Result) -> Iterator[str]:
    kind = C_TYPES[result.dtype]
    if not result.array:
        yield f"{kind} r{k} = 0;"
        return
    yield f"{kind} *r{k} = NULL;"
    if result.allocated:
        if result.rank:
            yield f"int64_t shape{k}[{result.rank}];"
    else:
        yield f"PyObject *made{k} = NULL;"


def _new(k: int, result: Result) -> str:
    """Make the array that the entry fills."""
    what = f"\"{result.dtype}\", '{result.layout}', {result.rank}"
    return f"(made{k} = new_array(state, {what}, p{result.like}->shape, &r{k}))"


def _number(source: str, where: str, k: int, leaf: Parameter) -> Iterator[str]:
    """Read a number: through the widest type of its kind, if it has another one."""
    kind, bits = np.dtype(leaf.dtype).kind, 8 * np.dtype(leaf.dtype).itemsize
    if kind == "b":
        yield f"if (!read_bool(state, {source}, {where}, &p{k}))"
        yield f"{INDENT}goto done;"
        return
    wide = {"f": "double", "i": "int64_t", "u": "uint64_t"}[kind]
    reader = {"f": "read_float", "i": "read_signed", "u": "read_unsigned"}[kind]
    extra = "" if kind == "f" else f", {bits}"
    if wide == C_TYPES[leaf.dtype]:
        yield f"if (!{reader}(state, {source}, {where}{extra}, &p{k}))"
        yield f"{INDENT}goto done;"
        return
    yield "{"
    yield f"{INDENT}{wide} wide;"
    yield f"{INDENT}if (!{reader}(state, {source}, {where}{extra}, &wide))"
    yield f"{INDENT * 2}goto done;"
    yield f"{INDENT}p{k} = ({C_TYPES[leaf.dtype]})wide;"
    yield "}"


def c_constant(value: Any, dtype: str) -> str:
    """A number as a constant expression of C.

    >>> c_constant(0.1, "float64"), c_constant(3, "int64"), c_constant(True, "bool")
    ('0x1.999999999999ap-4', 'INT64_C(3)', 'true')
    """
    kind = np.dtype(dtype).kind
    if kind == "b":
        return "true" if value else "false"
    if kind == "f":
        number = float(value)
        if math.isnan(number):
            return "NAN"
        if math.isinf(number):
            return "INFINITY" if number > 0 else "-INFINITY"
        return number.hex()
    if int(value) == -(2**63):
        return "INT64_MIN"
    return f"{'U' if kind == 'u' else ''}INT64_C({int(value)})"


def c_string(text: str) -> str:
    """A text as a string constant of C, in UTF-8.

    >>> print(c_string('a "b"'), c_string("x²"))
    "a \\"b\\"" "x\\302\\262"
    """
    out = []
    for byte in text.encode():
        char = chr(byte)
        if char in '\\"?':
            out.append(f"\\{char}")
        elif char == "\n":
            out.append("\\n")
        else:
            # three octal digits end an escape, whatever follows
            out.append(char if 32 <= byte < 127 else f"\\{byte:03o}")
    return f'"{"".join(out)}"'
