"""SavedModels that either engine writes, in each way that there is, run in the other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle import both_ways, saved_model_program

pytestmark = both_ways.MARKS


@pytest.fixture(scope="module", params=both_ways.ENGINES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The files of our variables, what the writer finds in the models, and what the other does."""
    folder = tmp_path_factory.mktemp(request.param)
    other = both_ways.other_than(request.param)
    files = both_ways.run(saved_model_program, "write", request.param, folder)
    if request.param == "tensorflow":
        files = {}  # 1.15 writes those of Keras in two shards
    return (
        files,
        both_ways.run(saved_model_program, "run", request.param, folder),
        both_ways.run(saved_model_program, "run", other, folder),
    )


@pytest.mark.parametrize("name", list(saved_model_program.MODELS))
def test_the_variables_are_tensorflows_files_and_are_found(name: str, written: Any) -> None:
    files, own, others = written
    expected = ["variables.data-00000-of-00001", "variables.index"]
    assert files.get(name, expected) == expected
    assert others[name] == own[name]
    assert any(value for values in own[name].values() for value in values)
