"""docs/language.md is what the compiler's tables say."""

from __future__ import annotations

import gast
import pytest

from tapec.frontend.full_evaluator import FullEvaluator
from tools import language


def test_the_page_is_up_to_date():
    text = language.PAGE.read_text(encoding="utf-8")
    assert language.page() == text, "run python -m tools.language"


def test_a_handler_without_a_description_is_found(monkeypatch: pytest.MonkeyPatch):
    handlers = {**FullEvaluator().statement_handlers, gast.ClassDef: None}
    with pytest.raises(KeyError, match="ClassDef"):
        language.described(language.STATEMENTS, handlers)


def test_a_construct_without_words_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(language.WORDS, "Await")
    with pytest.raises(KeyError, match="Await"):
        language.page()
