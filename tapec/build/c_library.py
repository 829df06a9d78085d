"""Kind "library": a C library, its header, and what build systems need to find it.

    include/NAME.h                    documented C99, also for C++
    include/NAME.f90                  a Fortran module of interfaces
    lib/libNAME.so, lib/libNAME.a
    lib/pkgconfig/NAME.pc
    lib/cmake/NAME/NAMEConfig.cmake   the targets NAME::NAME and NAME::NAME_static

All paths in the files are relative to themselves: the folder can be moved or installed anywhere.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tapec.build.build_target import DerivedTarget, Output, derive
from tapec.build.c_header import HeaderEntry
from tapec.build.files import place
from tapec.build.fortran import fortran_text
from tapec.build.object_code import Native, compile_native
from tapec.build.processor import processor, suited
from tapec.build.toolchain import toolchain

_PKG_CONFIG = """\
prefix=${{pcfiledir}}/../..
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: {name}
Description: Compiled derivatives, built by tapec
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -l{name}{linear}
Libs.private: {private}
"""

_CMAKE = """\
# Targets: {name}::{name} (shared) and {name}::{name}_static.
get_filename_component(_{prefix}_root "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
{find}
if(NOT TARGET {name}::{name})
  add_library({name}::{name} SHARED IMPORTED)
  set_target_properties({name}::{name} PROPERTIES
    IMPORTED_LOCATION "${{_{prefix}_root}}/lib/lib{name}.so"
    IMPORTED_SONAME "lib{name}.so"
    INTERFACE_INCLUDE_DIRECTORIES "${{_{prefix}_root}}/include"
    INTERFACE_LINK_LIBRARIES "{shared}")
  add_library({name}::{name}_static STATIC IMPORTED)
  set_target_properties({name}::{name}_static PROPERTIES
    IMPORTED_LOCATION "${{_{prefix}_root}}/lib/lib{name}.a"
    INTERFACE_INCLUDE_DIRECTORIES "${{_{prefix}_root}}/include"
    INTERFACE_LINK_LIBRARIES "{static}")
endif()
unset(_{prefix}_root)
set({name}_FOUND TRUE)
"""

# a library has no version of its own yet
_VERSION = "1"


def build_library(output: Output, folder: Path) -> list[Path]:
    """Build a library below `folder`; returns the files.

    raises  TapecError (see tapec.errors) for what cannot be built
    """
    chosen = processor(output.cpu)
    functions = derive((suited(target, chosen) for target in output.targets), output.root, output.contiguous)
    return write_library(output.name, functions, compile_native(output.name, functions, chosen), folder)


def write_library(name: str, functions: Sequence[DerivedTarget], native: Native, folder: Path) -> list[Path]:
    """Write the files of a library whose functions are compiled; returns them."""
    summaries = [one.program.core.doc for one in functions]
    entries = [HeaderEntry(interface, text) for interface, text in zip(native.interfaces, summaries, strict=True)]
    texts = {
        f"include/{native.prefix}.h": native.header,
        f"include/{native.prefix}.f90": fortran_text(native.prefix, entries),
        f"lib/pkgconfig/{name}.pc": pkg_config(name, native),
        f"lib/cmake/{name}/{name}Config.cmake": cmake(name, native),
    }
    files = [place(folder, folder / path, text.encode()) for path, text in texts.items()]
    return files + linked(native, name, folder)


def linked(native: Native, name: str, folder: Path) -> list[Path]:
    """The shared and the static library, in `lib` below the output folder."""
    tools = toolchain()
    with tempfile.TemporaryDirectory() as work:
        objects = []
        for file, code in native.objects:
            # members of an archive are told by name: two libraries may go into one
            objects.append(Path(work) / f"{native.prefix}_{file}")
            objects[-1].write_bytes(code)
        # BLAS and LAPACK come with the program: there are several to choose from
        shared, static = Path(work) / f"lib{name}.so", Path(work) / f"lib{name}.a"
        tools.link(objects, shared, [f"-Wl,-soname,{shared.name}", "-lm"])
        tools.archive(objects, static)
        return [
            place(folder, folder / "lib" / made.name, made.read_bytes(), mode)
            for made, mode in ((shared, 0o755), (static, 0o644))
        ]


def pkg_config(name: str, native: Native) -> str:
    """The text of `NAME.pc`."""
    linear = "".join(f" -l{one}" for one in native.libraries if one != "m")
    return _PKG_CONFIG.format(name=name, version=_VERSION, linear=linear, private="-lm")


def cmake(name: str, native: Native) -> str:
    """The text of `NAMEConfig.cmake`."""
    linear = "lapack" in native.libraries
    find = "include(CMakeFindDependencyMacro)\nfind_dependency(BLAS)\nfind_dependency(LAPACK)\n" if linear else ""
    shared = "LAPACK::LAPACK;BLAS::BLAS" if linear else ""
    static = ";".join([*([shared] if linear else []), "m"])
    return _CMAKE.format(name=name, prefix=native.prefix, find=find, shared=shared, static=static)
