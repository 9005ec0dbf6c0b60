"""Networks drawn at random learn what they learn in TensorFlow: losses, outputs, variables and their names.

`DATAFLOW_RANDOM_TRAININGS` is how many are drawn (the seeds 0 to that number).
"""

from __future__ import annotations

import os

import pytest

from tests.oracle import comparison
from tests.oracle.random_trainings import program

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.timeout(0),  # both engines run all of them, each for at most its own limit
    pytest.mark.skipif(
        comparison.oracle_missing() is not None, reason=str(comparison.oracle_missing())
    ),
]


def test_drawn_networks_learn_as_in_tensorflow(tmp_path):
    paths = []
    for seed in range(int(os.environ.get("DATAFLOW_RANDOM_TRAININGS", "24"))):
        paths.append(tmp_path / f"random_training_{seed}.py")
        paths[-1].write_text(program(seed))
    outcomes = comparison.compare(paths)
    wrong = {one.program: one.error or one.differing for one in outcomes if not one.agrees}
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())
    assert all({"losses", "learned", "names"} <= set(one.reached) for one in outcomes)
