"""The small table that stands in for pandas gives what pandas gives, and the site's files are scikit-learn's."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dataflow as tf
from dataflow_datasets import diabetes, digits, frames, iris, python_manual, scikit_tables, wine
from tools import wheels


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the site's package holds."""
    folder = tmp_path_factory.mktemp("packed")
    with zipfile.ZipFile(wheels.own(folder)) as archive:
        archive.extractall(
            folder, [n for n in archive.namelist() if n.startswith("dataflow_datasets/packed/")]
        )
    return folder / "dataflow_datasets" / "packed"


@pytest.fixture
def in_a_page(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pandas and no scikit-learn, but the files of the site's package."""
    monkeypatch.setattr(scikit_tables, "PACKED", packed)
    for name in ("pandas", "sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(
    "load",
    [
        digits.load_data,
        iris.load_data,
        wine.load_data,
        diabetes.load_data,
        lambda: diabetes.load_data(scaled=False),
    ],
)
def test_the_sites_files_hold_the_same_tables(
    load: Any, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load()
    monkeypatch.setattr(scikit_tables, "PACKED", packed)
    for name in ("pandas", "sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    for part, one in zip(known, load(), strict=True):
        for theirs, ours in zip(part, one, strict=True):
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=0, atol=1e-12)
            assert getattr(ours, "name", None) == getattr(theirs, "name", None)
            assert list(getattr(ours, "columns", ())) == list(getattr(theirs, "columns", ()))


def test_digits_and_flowers_are_read_without_importing_scikit_learn() -> None:
    code = (
        "import sys; from dataflow_datasets import digits, iris; digits.load_data(); iris.load_data(); "
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    from sklearn.datasets import load_digits, load_iris

    for ours, theirs in (
        (scikit_tables.digits(), load_digits()),
        (scikit_tables.iris(), load_iris()),
    ):
        np.testing.assert_array_equal(ours.data, theirs.data)
        np.testing.assert_array_equal(ours.target, theirs.target)


def test_the_sites_pages_are_those_of_the_manual(
    packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = python_manual.load_text()
    monkeypatch.setattr(python_manual, "PACKED", packed / "python_manual.txt.gz")
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    assert python_manual.load_text() == known


def _both() -> tuple[Any, frames.Frame]:
    import pandas

    columns = {"a": [3.0, 1.0, 2.0, 1.0], "b": [1, 2, 3, 4], "c": ["x", "y", "x", "z"]}
    return pandas.DataFrame(columns), frames.Frame(columns)


@pytest.mark.parametrize(
    "of",
    [
        lambda f: f["a"],
        lambda f: f.a,
        lambda f: f[["b", "a"]].to_numpy(np.float32),
        lambda f: f[f["a"] == 1]["b"],
        lambda f: f.head(2)["c"],
        lambda f: f.tail(3)["b"],
        lambda f: f.iloc[[2, 0]]["a"],
        lambda f: [*f.iloc[1]],
        lambda f: [*f[["a", "b"]].iloc[-1]],
        lambda f: f.assign(d=f["b"] * 2)["d"],
        lambda f: f.copy().pop("b"),
        lambda f: f["a"].std(),
        lambda f: f["a"].mean(),
        lambda f: f["a"].unique(),
        lambda f: f["c"].unique(),
        lambda f: list(f),
        lambda f: f.shape,
        lambda f: len(f),
        lambda f: f.columns.get_loc("b"),
        lambda f: list(f.keys()),
        lambda f: dict(f)["b"],
        lambda f: np.asarray(f[["a", "b"]]),
        lambda f: f[["a", "b"]].values,
    ],
)
def test_a_small_table_gives_what_pandas_gives(of: Any) -> None:
    theirs, ours = (of(frame) for frame in _both())
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_a_file_is_written_as_pandas_writes_it(tmp_path: Path) -> None:
    theirs, ours = _both()
    for index in (False, True):
        theirs.to_csv(tmp_path / "theirs.csv", index=index)
        ours.to_csv(tmp_path / "ours.csv", index=index)
        assert (tmp_path / "ours.csv").read_text() == (tmp_path / "theirs.csv").read_text()


def test_numbers_of_a_column_are_numbers(in_a_page: None) -> None:
    (train_x, train_y), _ = iris.load_data()
    assert f"{train_x['PetalWidth'].mean():.3f}" == "1.198"
    assert f"{train_y[0]}" == "2"
    assert iris.SPECIES[train_y[0]] == "Virginica"
    assert train_x[train_y == 1].shape == (36, 4)


def test_a_data_set_is_made_of_it(in_a_page: None) -> None:
    (train_x, train_y), _ = iris.load_data()
    data = tf.data.Dataset.from_tensor_slices((dict(train_x), train_y)).batch(3)
    with tf.Session() as sess:
        features, label = sess.run(data.make_one_shot_iterator().get_next())
    assert features["SepalLength"].tolist() == [6.4, 5.0, 4.9]
    assert label.tolist() == [2, 1, 2]


def test_it_says_what_it_is(in_a_page: None) -> None:
    train, _ = iris.load_frames()
    assert f"120 rows x 5 columns ({frames.NOTE})" in repr(train)
    assert frames.NOTE in train.head()._repr_html_()
    with pytest.raises(
        AttributeError, match="pandas is not here.*no 'groupby'.*pip install pandas"
    ):
        train.groupby("Species")


def test_text_in_a_table_is_shown_as_text() -> None:
    shown = frames.Frame({"<b>": ["<script>alert(1)</script>"]})._repr_html_()
    assert "<b>" not in shown
    assert "<script" not in shown


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="the same length, got a: 2, b: 1"):
        frames.Frame({"a": [1, 2], "b": [1]})
