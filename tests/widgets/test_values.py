"""Summaries of arrays: what is sent, and that it says the truth about the array."""

from __future__ import annotations

import base64
import json

import ml_dtypes
import numpy as np
import pytest

from dataflow.runtime.value_sample import sample_of
from dataflow_widgets.values import GRID_COLUMNS, GRID_ROWS, TABLE_SIZE, plain, summarize


def levels(summary: dict) -> np.ndarray:
    grid = summary["grid"]
    codes = np.frombuffer(base64.b64decode(grid["levels"]), np.uint8)
    return codes.reshape(grid["rows"], grid["columns"])


def test_nothing_for_no_value() -> None:
    assert summarize(None) is None


def test_bfloat16_is_shown_as_numbers() -> None:
    array = np.array([[1.5, np.nan], [-2.0, 0.25]], ml_dtypes.bfloat16)
    summary = summarize(array)
    assert summary["data"] == [1.5, "nan", -2.0, 0.25]
    assert (summary["dtype"], summary["bytes"]) == ("bfloat16", 8)
    assert summary["stats"] == {
        "nan": 1,
        "inf": 0,
        "min": -2.0,
        "max": 1.5,
        "mean": plain(-0.25 / 3),
        "std": plain(np.std([1.5, -2.0, 0.25])),
    }
    large = np.tile(array, (200, 200))
    summary = summarize(sample_of(large))
    assert summary["kind"] == "heat" and summary["dtype"] == "bfloat16"
    assert summary["stats"]["nan"] == 40_000


def test_scalars_are_the_number() -> None:
    assert summarize(np.float32(2.5))["data"] == [2.5]
    assert summarize(np.int32(-7))["kind"] == "scalar"
    assert summarize(np.bool_(True))["data"] == [True]
    assert summarize(np.asarray(0.1, np.float32))["data"] == [0.1]


def test_few_values_are_a_table_of_the_numbers() -> None:
    summary = summarize(np.arange(6, dtype=np.int64).reshape(2, 3))
    assert (summary["kind"], summary["rows"], summary["columns"]) == ("table", 2, 3)
    assert summary["data"] == [0, 1, 2, 3, 4, 5]
    assert summary["shape_text"] == "(2, 3)"


@pytest.mark.parametrize("shape", [(0,), (3, 0), (1, 1, 1), (2, 2, 2)])
def test_odd_shapes(shape: tuple[int, ...]) -> None:
    summary = summarize(np.zeros(shape, np.float32))
    assert summary["shape"] == list(shape)
    json.dumps(summary, allow_nan=False)


def test_not_finite_values_are_named() -> None:
    summary = summarize(np.array([1.0, np.nan, np.inf, -np.inf]))
    assert summary["data"] == [1.0, "nan", "inf", "-inf"]
    assert (summary["stats"]["nan"], summary["stats"]["inf"]) == (1, 2)
    assert summary["stats"]["max"] == 1.0
    json.dumps(summary, allow_nan=False)


def test_many_values_are_a_grid_with_the_right_means() -> None:
    array = np.arange(64 * 96, dtype=np.float64).reshape(64, 96)
    summary = summarize(array)
    assert summary["kind"] == "heat"
    assert levels(summary).shape == (GRID_ROWS, GRID_COLUMNS)
    lo, hi = summary["grid"]["lo"], summary["grid"]["hi"]
    decoded = lo + levels(summary) / 250 * (hi - lo)
    blocks = array.reshape(32, 2, 48, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(decoded, blocks, atol=(hi - lo) / 400)
    assert sum(summary["histogram"]["counts"]) == array.size
    assert len(json.dumps(summary)) < 4000


def test_grid_marks_not_finite_cells() -> None:
    array = np.zeros((10, 10))
    array[0, 0], array[1, 1], array[2, 2] = np.nan, np.inf, -np.inf
    codes = levels(summarize(array))
    assert (codes[0, 0], codes[1, 1], codes[2, 2]) == (255, 254, 253)
    assert codes[5, 5] == 0


def test_sizes_that_do_not_divide() -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(size=(37, 101))
    codes = levels(summarize(array))
    assert codes.shape == (GRID_ROWS, GRID_COLUMNS)
    vector = summarize(rng.normal(size=1001))
    assert vector["grid"]["columns"] == GRID_COLUMNS
    assert "1001 values" in vector["grid"]["note"]


@pytest.mark.filterwarnings("error")
def test_extremes_of_float64_do_not_warn_or_break() -> None:
    big = np.finfo(np.float64).max
    summary = summarize(np.array([big, -big] * TABLE_SIZE))
    json.dumps(summary, allow_nan=False)


def test_text_is_shortened_and_decoded() -> None:
    array = np.array([b"caf\xc3\xa9", "x" * 1000, b"\xff"], dtype=object)
    summary = summarize(array)
    assert summary["kind"] == "text"
    assert summary["data"][0] == "café"
    assert len(summary["data"][1]) == 500
    assert summary["dtype"] == "string"


def test_a_megabyte_is_a_few_kilobytes() -> None:
    assert len(json.dumps(summarize(np.random.default_rng(0).normal(size=(1000, 1000))))) < 4000


def test_integers_beyond_javascript_stay_exact() -> None:
    assert plain(2**53 + 1) == str(2**53 + 1)
    assert plain(2**53) == 2**53


def test_a_gpu_array_is_fetched() -> None:
    class OnDevice:
        def get(self) -> np.ndarray:
            return np.arange(3)

    assert summarize(OnDevice())["data"] == [0, 1, 2]


def test_images_are_pictures() -> None:
    batch = np.zeros((10, 28, 28, 1), np.float32)
    batch[0, 0, 0, 0] = 1.0
    summary = summarize(batch)
    assert summary["kind"] == "image"
    shown = summary["images"]
    assert (shown["count"], shown["shown"], shown["height"], shown["channels"]) == (10, 4, 28, 1)
    pixels = np.frombuffer(base64.b64decode(shown["bytes"]), np.uint8)
    assert pixels.size == 4 * 28 * 28
    assert pixels[0] == 255
    assert summarize(np.full((300, 200, 3), np.nan))["kind"] == "image"
    assert summarize(np.zeros((5, 5, 32, 64), np.float32))["kind"] == "heat"


def test_large_arrays_are_sampled_but_their_extremes_are_exact() -> None:
    array = np.random.default_rng(0).normal(size=(2000, 500)).astype(np.float32)
    array[1999, 499] = 1000.0
    summary = summarize(array)
    assert summary["stats"]["max"] == 1000.0
    assert summary["stats"]["mean"] == pytest.approx(float(array.mean(dtype=np.float64)), rel=1e-6)
    assert "th row of 2000" in summary["grid"]["note"]
    array[7, 7] = np.nan
    assert summarize(array)["stats"]["nan"] == 1
