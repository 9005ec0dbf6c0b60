"""Initializers out of checkpoints of `tf.contrib.framework`: TensorFlow 1.15's values of the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf

framework = tf.contrib.framework


def missing(shape: Any, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
    return tf.fill(shape, -1.0)


class Files:
    """A checkpoint of a matrix and a bias, and the words of rows and columns."""

    def __init__(self, folder: Path) -> None:
        for name, words in (("old", "abcd"), ("new", "dxa"), ("columns", "pqr"), ("later", "rzpq")):
            (folder / name).write_text("".join(f"{word}\n" for word in words))
        self.old, self.new = str(folder / "old"), str(folder / "new")
        self.columns, self.later = str(folder / "columns"), str(folder / "later")
        with tf.Graph().as_default(), tf.Session() as session:
            tf.get_variable("m", initializer=np.arange(12, dtype=np.float32).reshape(4, 3))
            tf.get_variable("b", initializer=np.arange(0, 40, 10, dtype=np.float32).reshape(4, 1))
            session.run(tf.global_variables_initializer())
            self.checkpoint = tf.train.Saver().save(session, str(folder / "model"))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def value(session: Any, initializer: Any, shape: list[int], **options: Any) -> Any:
    variable = tf.get_variable("v", shape, initializer=initializer, **options)
    session.run(tf.global_variables_initializer())
    return session.run(tf.convert_to_tensor(variable)).tolist()


NONE = [-1.0, -1.0, -1.0]


def test_an_embedding_of_other_words(session: Any, files: Files) -> None:
    initializer = framework.load_embedding_initializer(
        files.checkpoint, "m", 3, 3, files.old, files.new, num_oov_buckets=2, initializer=missing
    )
    expected = [[9.0, 10.0, 11.0], NONE, [0.0, 1.0, 2.0], NONE, NONE]
    assert value(session, initializer, [5, 3]) == expected


def test_an_embedding_in_parts_of_the_first_old_words(session: Any, files: Files) -> None:
    initializer = framework.load_embedding_initializer(
        files.checkpoint, "m", 3, 3, files.old, files.new, 2, 1, initializer=missing
    )
    parts = tf.fixed_size_partitioner(2)
    expected = [NONE, NONE, [0.0, 1.0, 2.0], NONE]
    assert value(session, initializer, [4, 3], partitioner=parts) == expected


def test_new_rows_are_drawn(session: Any, files: Files) -> None:
    initializer = framework.load_embedding_initializer(
        files.checkpoint, "m", 3, 3, files.old, files.new
    )
    new = value(session, initializer, [3, 3])[1]
    assert len(set(new)) == 3 and max(map(abs, new)) <= 2 / 3**0.5


def test_rows_and_columns(session: Any, files: Files) -> None:
    initializer = framework.load_and_remap_matrix_initializer(
        files.checkpoint,
        "m",
        3,
        4,
        old_row_vocab_file=files.old,
        new_row_vocab_file=files.new,
        old_col_vocab_file=files.columns,
        new_col_vocab_file=files.later,
        num_row_oov_buckets=1,
        num_col_oov_buckets=1,
        initializer=missing,
    )
    assert value(session, initializer, [4, 5]) == [
        [11.0, -1.0, 9.0, 10.0, -1.0],
        [-1.0] * 5,
        [2.0, -1.0, 0.0, 1.0, -1.0],
        [-1.0] * 5,
    ]


def test_columns_alone(session: Any, files: Files) -> None:
    columns = {"old_col_vocab_file": files.columns, "new_col_vocab_file": files.later}
    initializer = framework.load_and_remap_matrix_initializer(
        files.checkpoint, "m", 4, 4, **columns
    )
    expected = [[3 * i + 2.0, 0.0, 3.0 * i, 3 * i + 1.0] for i in range(4)]
    assert value(session, initializer, [4, 4]) == expected


def test_a_bias_and_a_slot(session: Any, files: Files) -> None:
    initializer = framework.load_linear_multiclass_bias_initializer(
        files.checkpoint, "b", 3, files.old, files.new, num_class_oov_buckets=1
    )
    assert value(session, initializer, [4, 1]) == [[30.0], [0.0], [0.0], [0.0]]
    rows = {"old_row_vocab_file": files.old, "new_row_vocab_file": files.new}
    slot = framework.load_variable_slot_initializer(files.checkpoint, "b", None, 3, 1, **rows)
    assert session.run(slot([3, 1])).tolist() == [[30.0], [0.0], [0.0]]


def test_what_is_refused(files: Files) -> None:
    make = framework.load_and_remap_matrix_initializer
    rows = {"old_row_vocab_file": files.old, "new_row_vocab_file": files.new}
    with pytest.raises(ValueError, match="Must provide either row or column vocab files"):
        make(files.checkpoint, "m", 3, 3)
    with pytest.raises(ValueError, match="old_row_vocab_file and new_row_vocab_file must both"):
        make(files.checkpoint, "m", 3, 3, old_row_vocab_file=files.old)
    with pytest.raises(ValueError, match="num_col_oov_buckets must be >= 0"):
        make(files.checkpoint, "m", 3, 3, num_col_oov_buckets=-1, **rows)
    with pytest.raises(TypeError, match="initializer must be callable"):
        make(files.checkpoint, "m", 3, 3, initializer=0.0, **rows)
    initializer = make(files.checkpoint, "m", 3, 3, **rows)
    with pytest.raises(TypeError, match="only float32 is supported"):
        initializer([3, 3], tf.float64)
    for shape, message in (
        ([3], "Expected 2-dim shape"),
        ([0, 3], "1st dim of shape to be > 0"),
        ([3, 4], "Expected 2nd dim of shape"),
        ([4, 3], "exceed expected total row count"),
    ):
        with pytest.raises(ValueError, match=message):
            initializer(shape)
