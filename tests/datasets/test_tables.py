"""Census, housing, and the tables that scikit-learn carries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataflow_datasets import census, diabetes, digits, housing, tables, wine


def test_census(real_data: Path) -> None:
    (train_x, train_y), (test_x, test_y) = census.load_data()
    assert train_x.shape == (32_561, 14)
    assert test_x.shape == (16_281, 14)
    assert train_y.sum() == 7841
    assert test_y.sum() == 3846
    assert train_x.iloc[0][["age", "workclass", "education_num"]].tolist() == [39, "State-gov", 13]
    assert test_x["native_country"].iloc[0] == "United-States"
    assert train_x[census.NUMERIC_COLUMNS].dtypes.eq(np.int64).all()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("39, State-gov, 77516", r"line 2: 3 cells, needed 15"),
        (
            "old, a, 1, b, 1, c, d, e, f, g, 0, 0, 40, h, <=50K",
            r"line 2, column 'age': 'old' cannot be read",
        ),
        (
            "39, a, 1, b, 1, c, d, e, f, g, 0, 0, 40, h, 50K",
            r"line 2, column 'income_bracket': '50K'.*<=50K, >50K",
        ),
    ],
)
def test_bad_row_names_file_line_and_column(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "adult.data"
    good = "39, a, 1, b, 1, c, d, e, f, g, 0, 0, 40, h, >50K."
    path.write_text(good + "\n\n")
    assert census.read_frame(path)["income_bracket"].tolist() == [1]
    path.write_text(good + "\n" + row + "\n")
    with pytest.raises(tables.BadRowError, match=message) as caught:
        census.read_frame(path)
    assert str(path) in str(caught.value)


def test_housing(real_data: Path) -> None:
    frame = housing.load_frame()
    assert frame.shape == (20_640, 10)
    assert frame["total_bedrooms"].isna().sum() == 207
    assert frame["median_house_value"].max() == 500_001
    (train_x, train_y), (test_x, test_y) = housing.load_data()
    assert (len(train_x), len(test_x)) == (16_512, 4_128)
    assert "median_house_value" not in train_x
    assert sorted([*train_y, *test_y]) == sorted(frame["median_house_value"])


@pytest.mark.parametrize(
    ("module", "num_rows", "num_columns"), [(wine, 178, 13), (diabetes, 442, 10)]
)
def test_scikit_tables(module: object, num_rows: int, num_columns: int) -> None:
    (train_x, train_y), (test_x, test_y) = module.load_data()  # type: ignore[attr-defined]
    assert train_x.shape[1] == test_x.shape[1] == num_columns
    assert len(train_x) + len(test_x) == num_rows
    assert len(test_x) == round(num_rows / 5)
    assert (len(train_y), len(test_y)) == (len(train_x), len(test_x))


def test_diabetes_units() -> None:
    (train_x, _), _ = diabetes.load_data(scaled=False)
    assert 18 <= train_x["age"].min() < train_x["age"].max() < 100


def test_digits() -> None:
    (train_x, train_y), (test_x, _) = digits.load_data()
    assert train_x.shape == (1438, 8, 8)
    assert test_x.shape == (359, 8, 8)
    assert train_x.dtype == np.float32
    assert (train_x.min(), train_x.max()) == (0, 1)
    assert set(train_y) == set(range(10))


def test_split_rows() -> None:
    train, test = tables.split_rows(10, 0.3, seed=0)
    assert len(test) == 3
    assert sorted([*train, *test]) == list(range(10))
    assert tables.split_rows(10, 0.3, seed=0)[1].tolist() == test.tolist()
    assert [len(part) for part in tables.split_rows(2, 0.01, seed=0)] == [1, 1]
    for fraction in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="between 0 and 1"):
            tables.split_rows(10, fraction, seed=0)
    with pytest.raises(ValueError, match="Two rows"):
        tables.split_rows(1, 0.5, seed=0)
