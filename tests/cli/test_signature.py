"""`--sig`, and the annotations that do without it."""

import pytest
from numba import types

from tapec.errors import UsageError
from tapec.signatures import from_annotations, parse
from tests.cli.running import refused


class TestSignature:
    @pytest.mark.parametrize(
        "text, wanted",
        [
            ("", ()),
            ("f8", (types.float64,)),
            ("f8[:], i8", (types.float64[:], types.int64)),
            ("float64[::1]", (types.float64[::1],)),
            ("f4[:, ::1]", (types.float32[:, ::1],)),
            ("f8[::1, :]", (types.float64[::1, :],)),
            ("f8(f8[:,:], boolean)", (types.float64[:, :], types.boolean)),
            ("UniTuple(f8, 2), Tuple((f8, i4))", (types.UniTuple(types.float64, 2), types.Tuple((types.f8, types.i4)))),
            ("numba.types.f8, types.Array(f8, 1, 'A', readonly=True)", (types.f8, types.Array(types.f8, 1, "A", True))),
            ("float, int, bool, None", (types.float64, types.intp, types.boolean, types.none)),
        ],
    )
    def test_numba_notation(self, text, wanted):
        assert parse(text) == wanted

    @pytest.mark.parametrize(
        "text, message",
        [
            ("f8[:", "was never closed"),
            ("f9", "unknown type 'f9'"),
            ("f8[0]", "'0' is no dimension"),
            ("f8[:][:]", "does not subscript a scalar type"),
            ("f8 + f8", "is not part of a signature"),
            ("3", "3 is no type"),
            ("Array(f8)", "missing 2 required positional"),
            ("__import__('os')", "unknown type '__import__'"),
            ("().__class__", "is not part of a signature"),
        ],
    )
    def test_what_is_no_signature(self, model, text, message):
        assert message in refused("grad", f"{model}:bare", "--sig", text)

    def test_annotations(self):
        import numpy as np

        matrix = np.ndarray[tuple[int, int], np.dtype[np.float32]]

        def f(a: float, b: "f8[:]", c: np.float32, d: matrix, e: types.int64, g: tuple[float, bool], h=None):  # noqa: F821
            ...

        wanted = (
            types.float64,
            types.float64[:],
            types.float32,
            types.float32[:, :],
            types.int64,
            types.Tuple((types.float64, types.boolean)),
        )
        assert from_annotations(f) == wanted

    def test_a_parameter_without_annotation(self, model):
        message = refused("grad", f"{model}:bare")
        assert "the type of 'x' of bare is not known: it has no annotation" in message
        assert "--sig" in message

    def test_an_annotation_without_rank(self):
        import numpy as np

        def f(x: np.typing.NDArray[np.float64]): ...

        with pytest.raises(UsageError, match="leaves its type open"):
            from_annotations(f)

    def test_too_many_types(self, model):
        assert "has 3 types, but `bare` has 2 parameters" in refused("grad", f"{model}:bare", "--sig", "f8, f8, f8")
