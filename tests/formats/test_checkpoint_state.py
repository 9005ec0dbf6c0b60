"""The text file ``checkpoint``."""

from __future__ import annotations

from pathlib import Path

import pytest

import dataflow as tf
from dataflow.errors import DataLossError, NotFoundError
from dataflow.formats.checkpoint_state import (
    CheckpointState,
    read_checkpoint_state,
    write_checkpoint_state,
)


def test_there_and_back(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("model-1", 'quo"te\\ é\n-2', "model-3")]
    state = CheckpointState(paths[2], paths, [1.5, 1605900000.25, 3.0], 2.5)
    path = write_checkpoint_state(tmp_path, state)
    assert path == str(tmp_path / "checkpoint")
    assert read_checkpoint_state(tmp_path) == state
    text = (tmp_path / "checkpoint").read_text()
    assert text.startswith('model_checkpoint_path: "model-3"\nall_model_checkpoint_paths: "model-1')
    assert text.isascii()


def test_folder_may_be_moved(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    write_checkpoint_state(old, CheckpointState(str(old / "model-1")))
    old.rename(new)
    state = read_checkpoint_state(new)
    assert state is not None
    assert state.model_checkpoint_path == str(new / "model-1")
    assert state.all_model_checkpoint_paths == [str(new / "model-1")]


def test_absolute_paths_and_another_file_name(tmp_path: Path) -> None:
    state = CheckpointState(str(tmp_path / "model-1"))
    write_checkpoint_state(tmp_path, state, "latest", relative=False)
    assert f'model_checkpoint_path: "{tmp_path}/model-1"' in (tmp_path / "latest").read_text()
    assert read_checkpoint_state(tmp_path) is None
    assert read_checkpoint_state(tmp_path, "latest") is not None
    elsewhere = CheckpointState("/elsewhere/model-1")
    write_checkpoint_state(tmp_path, elsewhere)
    assert read_checkpoint_state(tmp_path).model_checkpoint_path == "/elsewhere/model-1"  # type: ignore[union-attr]


def test_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    write_checkpoint_state("logs", CheckpointState("logs/model-1"))
    assert read_checkpoint_state("logs").model_checkpoint_path == "logs/model-1"  # type: ignore[union-attr]
    write_checkpoint_state("logs", CheckpointState("logs/model-2"), relative=False)
    assert 'model_checkpoint_path: "model-2"' in (tmp_path / "logs/checkpoint").read_text()
    assert read_checkpoint_state("logs").model_checkpoint_path == "logs/model-2"  # type: ignore[union-attr]


def test_what_other_writers_write(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text(
        "# a comment\n\n"
        "model_checkpoint_path : 'a \\'b\\'' # why\n"
        'all_model_checkpoint_paths: "one\\x2dtwo" "-joined\\303\\251"\n'
        "all_model_checkpoint_timestamps: 12\n"
    )
    assert read_checkpoint_state(tmp_path) == CheckpointState(
        str(tmp_path / "a 'b'"), [str(tmp_path / "one-two-joinedé")], [12.0]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model_checkpoint_path: model\n", "line 1.*must be in quotes"),
        ('model_checkpoint_path: "m"\nother: 3\n', "line 2.*no field 'other'"),
        ('model_checkpoint_path: "m', "line 1.*no 'name: value'"),
        ("all_model_checkpoint_timestamps: now\n", "line 1.*could not convert"),
    ],
)
def test_damaged_file(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "checkpoint").write_text(content)
    with pytest.raises(DataLossError, match=message) as caught:
        read_checkpoint_state(tmp_path)
    assert str(tmp_path / "checkpoint") in str(caught.value)


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="does not say model_checkpoint_path"):
        read_checkpoint_state(tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"\xff\xfe\0")
    with pytest.raises(DataLossError, match="not a checkpoint state file"):
        read_checkpoint_state(tmp_path)


def test_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 checkpoint paths and 2 timestamps"):
        write_checkpoint_state(tmp_path, CheckpointState("a", ["a"], [1.0, 2.0]))
    with pytest.raises(NotFoundError, match="does not exist. Make it first"):
        write_checkpoint_state(tmp_path / "absent", CheckpointState("a"))


def test_a_relative_path_begins_in_a_folder_given_by_its_whole_path(tmp_path: Path) -> None:
    """As TensorFlow has it; only the index must be there, whatever is in it."""
    tf.train.update_checkpoint_state(str(tmp_path), "model-3")
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    (tmp_path / "model-3.index").write_bytes(b"")
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model-3")
    assert tf.train.checkpoint_exists(str(tmp_path / "model-3"))
    assert '"model-3"' in (tmp_path / "checkpoint").read_text()
