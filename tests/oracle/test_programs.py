"""Every program gives here what it gives in real TensorFlow.

Skipped where TensorFlow's environment is not installed; `make oracle` sets it up.
"""

from __future__ import annotations

import ast

import pytest

from tests.oracle import comparison

pytestmark = [
    pytest.mark.oracle,
    # The first test waits for all, of both engines; each has a limit of its own.
    pytest.mark.timeout(0),
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]
PATHS = comparison.program_paths()


@pytest.mark.parametrize("name", [path.stem for path in PATHS])
def test_program_agrees_with_tensorflow(name, outcomes):
    outcome = outcomes[name]
    lines = [f"{key}: {text}" for key, text in outcome.differing.items()]
    assert outcome.error is None, f"{outcome.error}\n" + "\n".join(lines)
    assert not outcome.differing, "\n".join(lines)


def test_no_known_difference_is_stale(outcomes):
    """A row that nothing needs any more would hide the next difference in its place."""
    stale = comparison.stale_rows(list(outcomes.values()), of_samples=False)
    assert not stale, f"remove these rows: {stale}"


def test_each_group_of_differences_has_its_program():
    """TensorFlow 1.15's own tests showed 37 groups of differences; one program each, by its number."""
    found = {}
    for path in PATHS:
        if path.stem.startswith("group_"):
            docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
            number = int(path.stem.split("_")[1])
            assert docstring.startswith(f"Group {number}: "), path.name
            found[number] = path.name
    assert sorted(found) == list(range(1, 38))
