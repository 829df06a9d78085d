"""TARGET, `--wrt` and `--args`: what names a function, its sources and its arguments."""

import sys

import numpy as np
import pytest

from tapec.backend.file_header import without_header
from tapec.cli.shared_options import WrongInput, portable
from tapec.cli.target_argument import arguments_of, sources
from tapec.cli.target_completion import matching_targets
from tapec.loading import load
from tests.cli.running import refused, succeeds


class TestTarget:
    @pytest.mark.parametrize(
        "target, message",
        [
            ("cli_model.py", "names no function: write FILE.py:FUNCTION"),
            ("cli_model.py:", "names no function"),
            ("missing.py:loss", "no such file: missing.py"),
            ("missing_module:loss", "cannot import missing_module: ModuleNotFoundError"),
            ("no-module:loss", "neither a .py file nor the name of a module"),
            ("cli_model.py:los", "cli_model.py has no 'los'; did you mean 'loss'?"),
            ("cli_model.py:constant", "'float', not a function"),
        ],
    )
    def test_a_wrong_target(self, model, target, message):
        assert message in refused("grad", target)

    @pytest.mark.parametrize(
        "text, message",
        [("def f(:", "SyntaxError"), ("1 / 0", "ZeroDivisionError"), ("raise SystemExit(3)", "SystemExit: 3")],
    )
    def test_a_module_that_does_not_run(self, model, text, message):
        (model.parent / "broken.py").write_text(text)
        assert message in refused("grad", "broken.py:f")

    def test_a_file_named_like_a_module_in_use_leaves_it_alone(self, model):
        import json

        (model.parent / "json.py").write_text("def f(x: float):\n    return x\n")
        assert load("json.py:f").__module__ == "json_"
        assert sys.modules.pop("json_") is not json is sys.modules["json"]

    def test_a_file_inside_a_package_may_import_relatively(self, model):
        package = model.parent / "cli_package"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "a.py").write_text("from .b import f\n")
        (package / "b.py").write_text("class C:\n    @staticmethod\n    def f(x): return x\nf = C.f\n")
        assert load("cli_package/a.py:f") is load("cli_package.b:C.f")


class TestSources:
    def test_names_and_positions(self):
        assert [sources("x"), sources("1"), sources("x, 2")] == ["x", 1, ("x", 2)]

    def test_an_empty_name(self):
        with pytest.raises(WrongInput, match="empty name"):
            sources("x,,y")


class TestArguments:
    def test_they_are_written_as_in_a_call(self, model):
        x, a = arguments_of(load("cli_model.py:loss"), "np.ones(3), a=scale * math.pi")
        np.testing.assert_array_equal(x, np.ones(3))
        assert a == 0.5 * np.pi

    @pytest.mark.parametrize(
        "text, message",
        [
            ("np.ones(3)", "TypeError: missing a required argument: 'a'"),
            ("np.ones(3), 1.0, 2.0", "TypeError: too many positional arguments"),
            ("np.ones(3", "cannot read --args"),
            ("1 / 0, 2.0", "ZeroDivisionError"),
        ],
    )
    def test_wrong_ones(self, model, text, message):
        assert message in refused("check", "cli_model.py:loss", "--args", text)


    def test_they_stand_for_their_types(self, model):
        by_values = succeeds("grad", "cli_model.py:loss", "--args", "np.ones(3), a=scale")
        by_types = succeeds("grad", "cli_model.py:loss", "--sig", "f8[::1], f8")
        assert without_header(by_values) == without_header(by_types)
        assert "give one of them" in refused("grad", "cli_model.py:loss", "--args", "np.ones(3), 1.0", "--sig", "f8[:]")


class TestCompletion:
    def test_files_and_folders(self, model):
        (model.parent / "folder").mkdir()
        (model.parent / "data.txt").touch()
        assert matching_targets("") == ["cli_model.py:", "folder/", "helper.py:"]
        assert matching_targets("cli") == ["cli_model.py:"]
        assert matching_targets("missing/") == []

    def test_functions_of_a_file_that_is_not_run(self, model):
        (model.parent / "b.py").write_text("def first(): ...\ndef second(): ...\nraise SystemExit\n")
        assert matching_targets("b.py:") == ["b.py:first", "b.py:second"]
        assert matching_targets("b.py:s") == ["b.py:second"]
        assert matching_targets("missing.py:") == []


def test_a_target_is_told_without_folders_of_one_machine(model):
    assert portable(f"{model}:loss") == "cli_model.py:loss"
    assert portable("./cli_model.py:loss") == "cli_model.py:loss"
    assert portable("/elsewhere/model.py:loss") == "model.py:loss"
