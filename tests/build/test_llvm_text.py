"""Modules of LLVM as text: what is kept, what is hidden, and where statuses go."""

from __future__ import annotations

import doctest
import pickle

import pytest
from llvmlite import binding

from tapec.build import c_header, interface, llvm_text
from tapec.build.llvm_text import Item, argument_types, isolated, reached, take_apart
from tapec.build.statuses import Failures
from tapec.build.symbols import refusal
from tapec.build.worker import _pickle

PICKLED = pickle.dumps((ValueError, ('a "text" \\ of é',), ("f", "model.py", 3)))
TEXT = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in PICKLED)
MODULE = f"""
; ModuleID = 'f'
source_filename = "<string>"
target triple = "x86_64-unknown-linux-gnu"

@.const.pickledata.ab = internal constant [{len(PICKLED)} x i8] c"{TEXT}"
@.const.pickledata.ab.sha1.1 = internal constant [2 x i8] c"\\01\\02"
@.const.picklebuf.ab = internal constant {{ ptr, i32, ptr, ptr, i32 }} {{ ptr @.const.pickledata.ab, i32 {len(PICKLED)}, ptr @.const.pickledata.ab.sha1.1, ptr null, i32 0 }}
@".const.not wanted" = internal constant [3 x i8] c"no\\00"
@table = linkonce_odr unnamed_addr constant [2 x double] [double 1.0, double 2.0]
@PyExc_TypeError = external global i8

define i32 @"f.1"(ptr noalias %retptr, ptr noalias %excinfo, double %arg.x, i64 %arg.n) local_unnamed_addr #0 {{
entry:
  store ptr @.const.picklebuf.ab, ptr %excinfo
  %y = load double, ptr @table
  %z = tail call double @sin(double %y)
  %w = call double @helper(double %z)
  store double %w, ptr %retptr
  ret i32 1
}}

define linkonce_odr double @helper(double %x) #0 {{
  %y = call ptr @NRT_Allocate(i64 8)
  ret double %x
}}

define ptr @wrapper(ptr %x) {{
  call void @PyErr_SetString(ptr @PyExc_TypeError, ptr @".const.not wanted")
  ret ptr null
}}

declare double @sin(double)
declare ptr @NRT_Allocate(i64)
declare void @PyErr_SetString(ptr, ptr)

attributes #0 = {{ nounwind }}

!nvvm.annotations = !{{!0}}
!0 = !{{ptr @helper, !"noinline", i32 1}}
"""  # noqa: E501


def test_only_what_the_function_reaches_is_kept():
    names = [item.name for item in reached(take_apart(MODULE), "f.1")]
    assert "wrapper" not in names and "PyErr_SetString" not in names and ".const.not wanted" not in names
    assert {"f.1", "helper", "table", "sin", "NRT_Allocate", ".const.picklebuf.ab"} <= set(names)


@pytest.mark.skipif(binding.llvm_version_info[0] < 17, reason="LLVM has pointers with types")
def test_the_rest_is_a_module_with_one_symbol():
    text = isolated(
        MODULE, "f.1", {"f.1": "lib_f", "NRT_Allocate": "lib_NRT_Allocate"}, {".const.pickledata.ab": 258}.get
    )
    module = binding.parse_assembly(text)
    module.verify()
    defined = {one.name: one.linkage.name for one in module.functions if not one.is_declaration}
    assert defined == {"lib_f": "external", "helper": "private"}
    assert {one.name for one in module.functions if one.is_declaration} == {"sin", "lib_NRT_Allocate"}
    assert all(one.linkage.name == "private" for one in module.global_variables)
    # the status in place of the pickle, and nothing that depends on it
    assert '[4 x i8] c"\\02\\01\\00\\00"' in text and "model.py" not in text and str(len(PICKLED)) not in text


def test_exceptions_are_read_from_their_pickles():
    failures = Failures()
    item = take_apart(MODULE).items[".const.pickledata.ab"]
    assert _pickle(item) == PICKLED
    assert failures.number(_pickle(item)) == 1
    assert failures.number(pickle.dumps((ValueError, ('a "text" \\ of é',), ("g", "other.py", 5)))) == 1
    assert failures.number(pickle.dumps((OverflowError, None, None))) == 2
    assert list(failures.known) == [("builtins", "ValueError", 'a "text" \\ of é'), ("builtins", "OverflowError", "")]


def test_types_of_arguments():
    parts = take_apart(MODULE)
    assert argument_types(parts.items["f.1"]) == ["ptr", "ptr", "double", "i64"]
    typed = "define i32 @f({ i8*, [2 x i64] }* noalias %r, { i8* }** %e, i1 %b, double* %x) {\n}"
    assert argument_types(Item("f", typed, "define")) == ["ptr", "ptr", "i1", "ptr"]


@pytest.mark.parametrize("module", [c_header, interface, llvm_text])
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0


def test_what_python_does_is_refused():
    parts = take_apart(MODULE)
    assert refusal("f", reached(parts, "f.1")) is None
    found = refusal("f", reached(parts, "wrapper"))
    assert found is not None and "it needs Python while it runs (PyE" in found.reason
