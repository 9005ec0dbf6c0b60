"""Every op sample gives here what it gives in real TensorFlow, and its GraphDef travels both ways.

Skipped where TensorFlow's environment is not installed; `make oracle` sets it up.
"""

from __future__ import annotations

import pytest

from tests.oracle import comparison

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]
FAMILIES = comparison.sample_families()


def assert_agrees(outcome: comparison.Outcome) -> None:
    lines = [f"{key}: {text}" for key, text in outcome.differing.items()]
    assert outcome.error is None, outcome.error
    assert not outcome.differing, "\n".join(lines)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, comparison.Outcome]:
    """All families at once: each engine is imported once."""
    found = comparison.compare_samples(FAMILIES) + comparison.compare_graphs(FAMILIES)
    return {outcome.program: outcome for outcome in found}


@pytest.mark.parametrize("family", FAMILIES)
def test_samples_agree_with_tensorflow(family, outcomes):
    assert_agrees(outcomes[f"samples/{family}"])


@pytest.mark.parametrize("maker", ["dataflow", "tensorflow"])
@pytest.mark.parametrize("family", FAMILIES)
def test_graphdefs_run_on_the_other_engine(family, maker, outcomes):
    assert_agrees(outcomes[f"graphs/{maker}/{family}"])


def test_no_known_difference_is_stale(outcomes):
    stale = [
        row
        for row in comparison.known_differences()
        if row.program.startswith(("samples/", "graphs/"))
        and not any(row.covers(name, key) for name, o in outcomes.items() for key in o.known)
    ]
    assert not stale, f"remove these rows: {stale}"
