"""Marked numbers in prose: what counts as a mark, and what as the same number."""

from __future__ import annotations

import nbformat.v4 as v4
import pytest

from tests.lessons.notebooks import LESSONS, read
from tests.lessons.stated_numbers import agrees, disagreements, stated_in, with_probes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("354", 354.0),
        ("0.93", 0.9333),
        ("216,000", 216_000.0),
        ("96%", 0.961),
        ("six", 6.0),
        ("-0.634", -0.6337),
        ("0.80", 0.8),
    ],
)
def test_a_number_agrees_to_the_digits_that_are_written(text: str, value: float) -> None:
    assert agrees(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("442", 354.0),
        ("0.93", 0.9366),
        ("0.80", 0.806),
        ("96%", 0.97),
        ("six", 6.4),
        ("many", 6.0),
        ("nan", 1.0),
        ("3", float("nan")),
    ],
)
def test_another_number_does_not_agree(text: str, value: float) -> None:
    assert not agrees(text, value)


def test_marks_are_found_where_they_stand() -> None:
    source = "It took **354** <!-- is len(X) --> of 442\n<!-- is\nlen(X) + rest -->, or ~80%<!-- is s -->."
    assert stated_in(source) == [("354", "len(X)"), ("442", "len(X) + rest"), ("80%", "s")]


def test_a_claim_in_words_is_a_condition() -> None:
    (claim,) = stated_in("the first is better <!-- holds first >\nsecond -->.")
    assert claim == ("holds", "first > second")
    assert agrees(claim.text, float(2 > 1)) and not agrees(claim.text, float(2 > 3))


def test_a_comment_that_is_no_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="marks no number"):
        stated_in("354 <!-- len(X) -->")


def test_the_value_is_asked_for_after_the_code_that_follows() -> None:
    cells = [
        v4.new_markdown_cell("There are 3 <!-- is len(x) -->."),
        v4.new_code_cell("x = [1, 2]"),
        v4.new_markdown_cell("Done."),
    ]
    text, code, probe, _ = with_probes(cells)
    names: dict[str, object] = {}
    exec(code.source, names)
    assert eval("len(x)", names) == 2
    value = {"application/json": {"found": [2.0]}}
    probe.outputs = [
        v4.new_output("stream", text="step 802, loss 0.0000\n"),  # from a thread that trains
        v4.new_output("display_data", data=value),
    ]
    assert disagreements(probe) == ["the text says 3, and len(x) is 2"]
    with pytest.raises(ValueError, match="no code cell follows"):
        list(with_probes(cells[:1]))
    assert text is cells[0]


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_every_mark_of_a_lesson_can_be_asked(path) -> None:
    notebook = read(path)
    for cell in with_probes(notebook.cells):
        for _, expression in cell.metadata.get("stated", []):
            compile(expression, path.stem, "eval")
