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


@pytest.mark.parametrize("family", FAMILIES)
def test_samples_agree_with_tensorflow(family):
    (outcome,) = comparison.compare_samples([family])
    assert_agrees(outcome)


@pytest.mark.parametrize("family", FAMILIES)
def test_graphdefs_run_on_the_other_engine(family):
    for outcome in comparison.compare_graphs([family]):
        assert_agrees(outcome)
