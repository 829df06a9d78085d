"""Derivatives ahead of time: as source, as C libraries and as extension modules.

| question | module |
|---|---|
| `[tool.tapec]` of a pyproject.toml, as outputs and targets | `config.py`, `build_target.py` |
| what setuptools calls; modules that do not exist yet | `hook.py`, `placeholders.py` |
| outputs into a folder, file by file | `outputs_to_folder.py`, `files.py` |
| kind "source", kind "library", kind "extension" | `source_output.py`, `c_library.py`, `extension.py` |

Objects, which libraries and extensions share:

| question | module |
|---|---|
| a function from Python to an object with a C entry | `object_code.py` |
| what an entry takes and returns, in C; its text | `interface.py`, `entry.py` |
| the C header; the Fortran module | `c_header.py`, `fortran.py` |
| what an entry's status means: refusals and numbered exceptions | `statuses.py` |
| the process that compiles for another processor, and what it is asked | `worker.py`, `request.py`, `processor.py` |
| what of LLVM's text is kept, and which symbols it may want | `llvm_text.py`, `symbols.py` |
| C types of arguments and results; their forms on both sides | `native_types.py`, `boundary_values.py` |
| gradients in the caller's memory | `outputs.py` |
| the C compiler | `toolchain.py` |

Extension modules:

| question | module |
|---|---|
| parameters, docstring and stub of a function | `python_signature.py` |
| C text of a signature, and of the function that tries its signatures | `wrapper.py`, `method.py` |
"""
