"""Examples are compared by shape where they are noisy, and to the letter elsewhere."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tools import examples

TABLE = "ward  visits\n----  ------------------\nheart  612 [603, 621]\n2 rows; 95 % intervals; epsilon = 1\n"


def equal(want: str, got: str, flags: int = 0) -> bool:
    return examples.Checker().check_output(want, got, examples.FLAGS | flags)


def test_a_number_with_an_interval_is_any_other() -> None:
    assert equal(TABLE, TABLE.replace("612 [603, 621]", "-3.5 [-1,204, 1.5e+04]").replace("-----", "---"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("heart", "skin"),
        ("2 rows", "3 rows"),
        ("epsilon = 1", "epsilon = 2"),
        ("95 %", "99 %"),
        ("612 [603, 621]", "612"),
        ("612 [603, 621]", "NULL [603, 621]"),
    ],
)
def test_all_else_is_compared_to_the_letter(before: str, after: str) -> None:
    assert not equal(TABLE, TABLE.replace(before, after))


@pytest.mark.parametrize(
    ("got", "is_equal"),
    [
        ("41 of 1,200 rows, epsilon = 1/3", True),
        ("-4.5e-03 of 7 rows, epsilon = 1/3", True),
        ("41 of 1,200 rows, epsilon = 1/4", False),
        ("none of 1,200 rows, epsilon = 1/3", False),
        ("41 rows, epsilon = 1/3", False),
    ],
)
def test_an_example_with_the_comment_takes_any_number_but_a_loss(got: str, is_equal: bool) -> None:
    want = "40 of 1,199 rows, epsilon = 1/3"
    assert equal(want, got, examples.NOISY) is is_equal
    assert not equal(want, got)


def test_the_comment_gives_the_option() -> None:
    noisy, plain = found = doctest.DocTestParser().get_examples(">>> 1 + 1  # noisy\n3\n>>> 1 + 1\n3\n")
    examples.mark(found)
    assert examples.NOISY in noisy.options
    assert examples.NOISY not in plain.options


def test_what_is_not_so_is_rewritten_and_the_rest_is_left(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n>>> 1 + 1\n3\n>>> print(1, 'a')  # noisy\n2 a\n>>> print('a\\n\\nb')\n\nMore.\n", "utf-8")
    assert examples.rewrite(page) == []
    text = page.read_text("utf-8")
    assert text == (
        "Text.\n\n>>> 1 + 1\n2\n>>> print(1, 'a')  # noisy\n2 a\n>>> print('a\\n\\nb')\na\n<BLANKLINE>\nb\n\nMore.\n"
    )


def test_abbreviations_are_written_in_full_when_asked(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(">>> print('one two')\none ...\n", "utf-8")
    assert examples.rewrite(page) == []
    assert "..." in page.read_text("utf-8")
    assert examples.rewrite(page, everything=True) == []
    assert page.read_text("utf-8") == ">>> print('one two')\none two\n"


def test_an_example_that_raises_is_named_and_left(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(">>> 1 / 0\n3\n", "utf-8")
    assert examples.rewrite(page) == ["page.md, line 1: 1 / 0"]
    assert page.read_text("utf-8") == ">>> 1 / 0\n3\n"
