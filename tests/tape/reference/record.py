"""Write down what TensorFlow answers: `python -m tests.tape.reference.record`, where TensorFlow is installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.tape.reference import complexes, models, nested, programs, structures
from tests.tape.reference.collection import Program

ANSWERS = Path(__file__).with_name("answers.json")
MODULES = (programs, models, nested, structures, complexes)
PROGRAMS: dict[str, Program] = {name: one for module in MODULES for name, one in module.CASES.items()}


def plain(answer: Any) -> Any:
    """An answer as JSON knows it: numbers, lists, dicts and None."""
    if isinstance(answer, dict):
        return {key: plain(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [plain(item) for item in answer]
    if answer is None or isinstance(answer, str | bool | int):
        return answer
    if type(answer).__name__ == "IndexedSlices":
        values = np.asarray(answer.values)
        dense = np.zeros(tuple(np.asarray(answer.dense_shape)), values.dtype)
        np.add.at(dense, np.asarray(answer.indices), values)
        return plain(dense)
    value = np.asarray(answer.numpy() if hasattr(answer, "numpy") else answer)
    if value.dtype.kind == "c":
        return {"real": value.real.tolist(), "imag": value.imag.tolist()}
    return value.astype(float).tolist()


def outcome(program: Program, tf: Any, numpy: Any, known: Callable[[Exception], str]) -> Any:
    """What a program returns, or the exception that it raises."""
    try:
        return plain(program(tf, numpy))
    except Exception as error:  # noqa: BLE001  what is raised is what is asked
        return {"raises": known(error)}


def main() -> None:
    import tensorflow as tf

    numpy = tf.experimental.numpy
    found = {name: outcome(program, tf, numpy, lambda e: type(e).__name__) for name, program in PROGRAMS.items()}
    record = {"tensorflow": tf.__version__, "answers": found}
    ANSWERS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
