"""One Python function of an extension module: its arguments are sorted once, then its signatures are tried in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tapec.build.python_signature import REQUIRED, Prototype
from tapec.build.wrapper import INDENT, Wrapper, c_string
from tapec.errors import UsageError


@dataclass(frozen=True)
class ExtensionMethod:
    """A function of the module.

    number    its place among the functions; part of C names
    first     the place of its first parameter name among those of all functions
    wrappers  one for each signature
    """

    number: int
    first: int
    wrappers: tuple[Wrapper, ...]

    @property
    def prototypes(self) -> tuple[Prototype, ...]:
        """The Python function with each of its signatures; they differ in the types of arguments and results."""
        return tuple(one.prototype for one in self.wrappers)

    @property
    def name(self) -> str:
        return self.prototypes[0].name

    @property
    def entry(self) -> str:
        """The function's line in the module's table."""
        first = self.prototypes[0]
        parts = [first.summary, *(one.table for one in self.prototypes), first.note]
        doc = c_string(f"{first.text_signature}\n--\n\n" + "\n\n".join(part for part in parts if part))
        function = f"(PyCFunction)(void (*)(void))call_{self.number}"
        return f"{{{c_string(self.name)}, {function}, METH_FASTCALL | METH_KEYWORDS, {doc}}}"

    @property
    def stub(self) -> str:
        """The function's lines in a .pyi file."""
        # types do not tell the layouts of arrays
        told = list({one.annotated: one.stub for one in reversed(self.prototypes)}.values())[::-1]
        return told[0] if len(told) == 1 else "\n\n".join(f"@overload\n{one}" for one in told)

    @property
    def text(self) -> str:
        """The C functions that read arguments and call entries."""
        return "\n".join([*(wrapper.text for wrapper in self.wrappers), *self._function()])

    def _function(self) -> Iterator[str]:
        arguments = self.prototypes[0].arguments
        required = ", ".join("true" if one.default is REQUIRED else "false" for one in arguments)
        yield ""
        yield f"static const bool required_{self.number}[] = {{{required or 'false'}}};"
        yield (
            f"static const Signature signature_{self.number} = "
            f"{{{c_string(self.name)}, {self.first}, {len(arguments)}, required_{self.number}}};"
        )
        yield ""
        yield f"static PyObject *call_{self.number}(PyObject *module, PyObject *const *args, Py_ssize_t nargs,"
        yield "                        PyObject *keywords)"
        yield "{"
        body = [
            f"PyObject *given[{max(len(arguments), 1)}] = {{NULL}};",
            f"if (!collect(&signature_{self.number}, PyModule_GetState(module), args, nargs, keywords, given))",
            f"{INDENT}return NULL;",
        ]
        if len(self.wrappers) == 1:
            body.append(f"return run_{self.wrappers[0].number}(module, given, NULL);")
        else:
            body += self._trials()
        yield from (f"{INDENT}{line}" for line in body)
        yield "}"

    def _trials(self) -> Iterator[str]:
        """Run the first signature that the arguments fit."""
        yield "bool fits = false;"
        yield "PyObject *answer = NULL;"
        for wrapper in self.wrappers:
            yield f"answer = run_{wrapper.number}(module, given, &fits);"
            yield "if (fits || !is_misfit())"
            yield f"{INDENT}return answer;"
        listed = "".join(f"\n  ({one.words})" for one in self.prototypes)
        text = f"{self.name}(): the arguments fit no signature; there are{listed}"
        yield f"PyErr_SetString(PyExc_TypeError, {c_string(text)});"
        yield "return NULL;"


def methods_of(wrappers: Sequence[Wrapper]) -> list[ExtensionMethod]:
    """The functions of a module: signatures of one name belong together.

    raises  UsageError where two functions have one name, or two signatures are the same
    """
    groups: dict[str, list[Wrapper]] = {}
    for wrapper in wrappers:
        groups.setdefault(wrapper.prototype.name, []).append(wrapper)
    made, first = [], 0
    for number, group in enumerate(groups.values()):
        prototypes = [one.prototype for one in group]
        if len({(one.subject, one.text_signature) for one in prototypes}) > 1:
            name = prototypes[0].name
            raise UsageError(f"two functions would be called {name!r}", hint="give one of the targets another `name`")
        if len({one.words for one in prototypes}) < len(group):
            raise UsageError(f"{prototypes[0].name!r} is built for one signature twice", hint="leave one out")
        made.append(ExtensionMethod(number, first, tuple(group)))
        first += len(group[0].prototype.arguments)
    return made
