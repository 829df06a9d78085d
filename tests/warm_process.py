"""Programs in fresh processes that begin with Numba imported and its registries read, which takes a second and a half.

A process that runs this module forks one for each program.  None of tapec is imported before the program does it.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any


def run(program: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a program as `python -c` does; its exit code, and what it prints, errors and warnings included."""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
        request = {"program": program, "folder": str(folder), "environment": environment, "output": output.name}
        server = _server()
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline()), output.read()


@functools.cache
def _server() -> Any:
    # what is set for these tests is not for the program
    left_out = ("NUMBA_", "TAPEC_", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    command = [sys.executable, "-P", __file__]
    made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    atexit.register(made.communicate)
    return made


def _serve() -> None:
    import numba

    numba.njit("f8(f8)")(lambda x: 2.0 * x)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(request: dict[str, Any]) -> None:
    """Go on as the process that was asked for."""
    output = os.open(request["output"], os.O_WRONLY)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    sys.path[:0] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    importlib.import_module("numba.core.config").reload_config()
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    code = 0
    try:
        exec(compile(request["program"], "<string>", "exec"), main.__dict__)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()
