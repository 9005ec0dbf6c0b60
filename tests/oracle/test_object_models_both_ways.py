"""SavedModels of objects that either engine writes, loaded in the other: `tf.saved_model.save` and `load`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle import both_ways, object_model_program

pytestmark = both_ways.MARKS


@pytest.fixture(scope="module", params=both_ways.ENGINES)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the writer finds in its files, and what the other does."""
    folder = tmp_path_factory.mktemp(request.param)
    other = both_ways.other_than(request.param)
    both_ways.run(object_model_program, "write", request.param, folder)
    return both_ways.run(object_model_program, "run", request.param, folder), both_ways.run(
        object_model_program, "run", other, folder
    )


@pytest.mark.parametrize(
    "what", ["predict again choose twice bias text trainable words", "keras", "sessions"]
)
def test_either_finds_what_the_writer_finds(what: str, found: Any) -> None:
    own, others = found
    for name in what.split():
        assert others[name] == own[name], name
        assert others[name]
