"""LIKE: one meaning, by a slow and obvious twin; and texts on which a matcher that goes back would never end."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from dither.data.patterns import atomic, automaton, escaped, matches, segments_of

LETTERS = "ab\\%_\n.🙂\u0301"
#: Letters of the pattern, each alone or after a backslash.
patterns = st.lists(
    st.sampled_from(["a", "b", "%", "_", "\\\\", "\\%", "\\_", "\\a", "\n", ".", "🙂", "\u0301"]), max_size=9
).map("".join)
texts = st.text(st.sampled_from(LETTERS), max_size=9)


def fits(text: str, signs: list[tuple[str, bool]]) -> bool:
    """Return whether a text fits the signs of a pattern, each with whether it is ordinary: as the standard says it."""
    if not signs:
        return not text
    (sign, is_ordinary), rest = signs[0], signs[1:]
    if sign == "%" and not is_ordinary:
        return any(fits(text[start:], rest) for start in range(len(text) + 1))
    return bool(text) and (text[0] == sign or (sign == "_" and not is_ordinary)) and fits(text[1:], rest)


def signs_of(pattern: str) -> list[tuple[str, bool]]:
    return [(found[-1], len(found) > 1 or found not in "%_") for found in re.findall(r"\\.|[^\\]", pattern, re.DOTALL)]


@settings(max_examples=400, deadline=None)
@given(text=texts, pattern=patterns)
@example(text="aa", pattern="a%a%a")
@example(text="a", pattern="a%a")
@example(text="a🙂", pattern="%a_")
def test_every_form_of_a_pattern_means_what_the_standard_says(text: str, pattern: str) -> None:
    meant = fits(text, signs_of(pattern))
    assert matches(text, pattern) == meant
    assert (re.fullmatch(automaton(pattern), text) is not None) == meant
    # Python has atomic groups, as Java has, and the end of a text under another letter.
    assert (re.search(atomic(pattern).removesuffix(r"\z") + r"\Z", text) is not None) == meant
    assert fits(text, signs_of(escaped(pattern))) == meant
    assert set(re.findall(r"\\(.)", escaped(pattern), re.DOTALL)) <= set("%_\\")


def test_a_matcher_looks_at_each_place_once_for_each_segment() -> None:
    class Counted(str):
        __slots__ = ()
        reads = 0

        def __getitem__(self, place: object) -> str:
            Counted.reads += 1
            return super().__getitem__(place)  # type: ignore[index]

    pattern = "%a_" * 30 + "%b"
    text = Counted("a" * 1000)
    assert not matches(text, pattern)
    assert Counted.reads <= len(text) * len(pattern)
    assert not matches("a" * 100_000, "%a" * 300 + "%b")


def test_a_form_for_engines_that_go_back_has_nothing_to_go_back_to() -> None:
    """Between the first segment and the last every part that repeats is atomic."""
    pattern = "x%" + "%".join(["a_"] * 30) + "%b"
    assert len(segments_of(pattern)) == 32
    assert re.sub(r"\(\?>\.\*\?[^()]*\)", "", atomic(pattern)) == r"(?s)\Ax.*b\z"
    assert re.search(atomic(pattern).removesuffix(r"\z") + r"\Z", "x" + "a" * 2000) is None
