"""Memory of large arrays is kept when it is freed, and comes in large pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from llvmlite import ir as ll

from tapec.backend.numba_internals import large_pages, lean_compiler
from tapec.options import DEFAULT

pytestmark = pytest.mark.optimised

ROOT = Path(__file__).resolve().parents[2]
OFFERED = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def several(n):
    a, b, c, d = np.empty(n), np.empty(n), np.empty(n), np.zeros((2, n))
    for i in range(n):
        a[i] = i
        b[i] = a[i] + 1.0
        c[i] = b[i] + 1.0
        d[1, i] += c[i]
    return d[1, n - 1] + d[0, 0]


def one(n):
    return np.empty(n)


def jitted(function):
    return numba.njit(**lean_compiler.flags(DEFAULT))(function)


COUNTING = """
import resource

from tests.backend.test_large_pages import jitted, several

f = jitted(several)
n, counts = 300_000, []
for _ in range(8):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert f(n) == n + 1.0
    counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(counts))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")
def test_later_calls_find_the_memory_of_the_first():
    # in a process of its own, and the least of some calls: a system may take pages from a large process at any time
    done = subprocess.run([sys.executable, "-c", COUNTING], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # of 2,900 pages
    assert int(done.stdout) < 300


@pytest.mark.skipif(not OFFERED.exists(), reason="a system with large pages")
def test_large_arrays_ask_for_large_pages():
    made = jitted(one)(5_000_000)
    inside = made.ctypes.data + made.nbytes // 2
    flags, within = [], False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            within = int(found[1], 16) <= inside < int(found[2], 16)
        elif within and line.startswith("VmFlags:"):
            flags += line.split()
    assert "hg" in flags


def test_arrays_of_all_sizes_are_made():
    f = jitted(several)
    for n in (1, 4095, 4096, 2**15, 2**19 - 1, 2**19, 2**19 + 1):
        assert f(n) == n + 1.0


def test_other_systems_are_not_asked():
    for triple, expected in (("x86_64-unknown-linux-gnu", True), ("arm64-apple-darwin", False), ("", False)):
        module = ll.Module()
        module.triple = triple
        number, pointer = ll.IntType(64), ll.IntType(8).as_pointer()
        function = ll.Function(module, ll.FunctionType(ll.VoidType(), [pointer, number]), "f")
        builder = ll.IRBuilder(function.append_basic_block())
        large_pages.keep_freed(builder, function.args[1])
        large_pages.ask_for_large_pages(builder, *function.args)
        builder.ret_void()
        assert ("posix_memalign" in str(module)) is ("madvise" in str(module)) is expected
