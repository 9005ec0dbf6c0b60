"""Every op sample gives here what it gives in real TensorFlow, and its GraphDef travels both ways.

Skipped where TensorFlow's environment is not installed; `make oracle` sets it up.
"""

from __future__ import annotations

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
FAMILIES = comparison.sample_families()


def assert_agrees(outcome: comparison.Outcome) -> None:
    lines = [f"{key}: {text}" for key, text in outcome.differing.items()]
    assert outcome.error is None, outcome.error
    assert not outcome.differing, "\n".join(lines)


@pytest.mark.parametrize("family", FAMILIES)
def test_samples_agree_with_tensorflow(family, sample_outcomes):
    assert_agrees(sample_outcomes[f"samples/{family}"])


@pytest.mark.parametrize("maker", ["dataflow", "tensorflow"])
@pytest.mark.parametrize("family", FAMILIES)
def test_graphdefs_run_on_the_other_engine(family, maker, sample_outcomes):
    assert_agrees(sample_outcomes[f"graphs/{maker}/{family}"])


def test_no_known_difference_is_stale(sample_outcomes):
    stale = comparison.stale_rows(list(sample_outcomes.values()), of_samples=True)
    assert not stale, f"remove these rows: {stale}"
