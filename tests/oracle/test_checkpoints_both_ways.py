"""Checkpoints that one engine writes in TensorFlow's format are restored exactly by the other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle import both_ways, checkpoint_program

pytestmark = both_ways.MARKS


@pytest.fixture(scope="module", params=both_ways.ENGINES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What was saved; what the other engine restored, and what the writer itself did."""
    folder = tmp_path_factory.mktemp(request.param)
    other = both_ways.other_than(request.param)
    saved = both_ways.run(checkpoint_program, "write", request.param, folder)
    return (
        saved,
        both_ways.run(checkpoint_program, "read", other, folder),
        both_ways.run(checkpoint_program, "read", request.param, folder),
    )


def test_the_files_are_tensorflows(both: Any) -> None:
    files = [name for name in both[1]["files"] if name.startswith(("dtypes", "shards"))]
    shards = [f"shards.data-0000{i}-of-00003" for i in range(3)]
    dtypes = ["dtypes.data-00000-of-00001", "dtypes.index", "dtypes.meta"]
    assert files == [*dtypes, *shards, "shards.index"]


@pytest.mark.parametrize("name", sorted(checkpoint_program.GRAPHS))
def test_all_values_are_restored(name: str, both: Any) -> None:
    saved, restored, _ = both
    assert len(saved[name]) > 1
    assert restored[name] == saved[name]


def test_parts_are_restored_from_shards_into_other_parts(both: Any) -> None:
    saved, restored, _ = both
    assert restored["shards"] == saved["parts"]
    assert len(restored["other parts"]) == 12
    assert restored["shards, other parts"] == restored["other parts"]
    assert restored["whole of shards"] == restored["whole"]["float32_0_130"]


def test_both_engines_find_the_same(both: Any) -> None:
    _, theirs, own = both
    assert theirs == own
    assert theirs["objects"][0] == "objects-1"


def test_models_of_keras_go_on_with_their_optimizers(both: Any) -> None:
    saved, restored, _ = both
    before, after = saved["keras"]
    assert len(before) == 8 + 1 + 2 * 6
    found = restored["keras"]
    assert found["keras_weights"][1] == after
    assert found["keras_objects-1"] == found["keras_names"] == [before, after]
    assert [name for name, _ in found["keras_names: list"] if "/Adam/" in name][:3] == [
        "training/Adam/beta_1",
        "training/Adam/beta_2",
        "training/Adam/decay",
    ]
