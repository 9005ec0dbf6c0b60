"""Iris against TensorFlow's two files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dataflow_datasets import iris


def test_rows_are_a_permutation_of_the_table() -> None:
    assert len(iris.TRAIN_ROWS) == 120
    assert len(iris.TEST_ROWS) == 30
    assert sorted(iris.TRAIN_ROWS + iris.TEST_ROWS) == list(range(150))


def test_load_data_in_the_tutorials_form() -> None:
    (train_x, train_y), (test_x, test_y) = iris.load_data()
    assert list(train_x.columns) == ["SepalLength", "SepalWidth", "PetalLength", "PetalWidth"]
    assert train_x.shape == (120, 4)
    assert test_x.shape == (30, 4)
    assert [*train_x.iloc[0], train_y[0]] == [6.4, 2.8, 5.6, 2.2, 2]
    assert [*test_x.iloc[0], test_y[0]] == [5.9, 3.0, 4.2, 1.5, 1]
    assert train_y.name == "Species"
    assert train_y.dtype == np.int64
    assert list(train_x.keys()) == iris.CSV_COLUMN_NAMES[:-1]
    assert dict(train_x)["PetalWidth"].shape == (120,)


def test_label_name_can_be_chosen() -> None:
    (_, train_y), _ = iris.load_data(label_name="kind")
    assert train_y.name == "kind"
    train, _ = iris.load_frames(label_name="kind")
    assert list(train.columns)[-1] == "kind"


def test_differs_from_tensorflows_files_in_the_two_rows_of_the_card(real_data: Path) -> None:
    train, test = iris.load_frames()
    theirs_train = np.loadtxt(real_data / "iris" / "iris_training.csv", delimiter=",", skiprows=1)
    theirs_test = np.loadtxt(real_data / "iris" / "iris_test.csv", delimiter=",", skiprows=1)
    assert np.array_equal(test.to_numpy(), theirs_test)
    differ = np.flatnonzero((train.to_numpy() != theirs_train).any(axis=1))
    assert differ.tolist() == [75, 85]
    assert theirs_train[differ].tolist() == [[4.9, 3.1, 1.5, 0.1, 0]] * 2
    assert train.iloc[differ].to_numpy().tolist() == [
        [4.9, 3.1, 1.5, 0.2, 0],
        [4.9, 3.6, 1.4, 0.1, 0],
    ]
