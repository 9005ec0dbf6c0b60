"""A meta graph that one engine wrote trains in the other, and gives the same losses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle import both_ways, model_programs

pytestmark = both_ways.MARKS
NAMES = [program.__name__ for program in model_programs.PROGRAMS]


@pytest.fixture(scope="module", params=both_ways.ENGINES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the writer of the meta graphs gave, and what the other engine did with them."""
    folder = tmp_path_factory.mktemp(request.param)
    other = both_ways.other_than(request.param)
    return both_ways.run(model_programs, "save", request.param, folder), both_ways.run(
        model_programs, "load", other, folder
    )


@pytest.mark.parametrize("name", NAMES)
def test_training_gives_the_same_losses(name: str, trained: Any) -> None:
    expected, got = trained[0][name], trained[1][name]
    assert isinstance(expected, list), expected
    assert isinstance(got, list), got
    assert got == pytest.approx(expected, rel=2e-3, abs=1e-4)
    assert expected[0] != expected[-1]
