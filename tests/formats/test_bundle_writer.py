"""What `write_bundle` writes is read back as TensorFlow's format is read."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from dataflow.errors import DataLossError
from dataflow.formats.bundle_writer import write_bundle
from dataflow.formats.tensor_bundle import TensorBundleReader


def test_numbers_and_texts_come_back(tmp_path: Path) -> None:
    arrays = {
        f"a/{np.dtype(d).name}": np.arange(6).reshape(2, 3).astype(d)
        for d in (
            "f2",
            "f4",
            "f8",
            "i1",
            "i2",
            "i4",
            "i8",
            "u1",
            "u2",
            "u4",
            "u8",
            "?",
            "c8",
            "c16",
        )
    }
    arrays |= {
        "empty": np.zeros((0, 3), "f4"),
        "one": np.float32(3),
        "texts": np.array([b"a", b""]),
    }
    write_bundle(tmp_path / "m", {**arrays, "text": "word", "list": [b"x" * 300]})
    with TensorBundleReader(tmp_path / "m") as reader:
        for name, array in arrays.items():
            np.testing.assert_array_equal(reader.get_tensor(name), array)
        assert reader.get_tensor("text").item() == b"word"
        assert reader.get_tensor("list").tolist() == [b"x" * 300]
        types = reader.get_variable_to_dtype_map()
    assert types["a/bool"] == "bool" and types["texts"] == "string"


def test_many_names_take_several_blocks(tmp_path: Path) -> None:
    arrays = {f"layer_{i}/some/long/name/{'x' * (i % 90)}": np.int32(i) for i in range(700)}
    write_bundle(tmp_path / "m", arrays)
    with TensorBundleReader(tmp_path / "m") as reader:
        assert len(reader) == 700
        assert all(reader.get_tensor(name) == value for name, value in arrays.items())


def test_bfloat16_and_what_is_refused(tmp_path: Path) -> None:
    write_bundle(tmp_path / "m", {"b": np.array([1.5, -2], ml_dtypes.bfloat16)})
    with TensorBundleReader(tmp_path / "m") as reader:
        assert reader.get_tensor("b").tolist() == [1.5, -2]
        assert reader.get_variable_to_dtype_map()["b"] == "bfloat16"
    with pytest.raises(TypeError, match="strings only"):
        write_bundle(tmp_path / "m", {"o": np.array([object()], object)})
    with pytest.raises(TypeError, match="float128|longdouble"):
        write_bundle(tmp_path / "m", {"o": np.zeros(1, np.longdouble)})


def test_damage_is_noticed(tmp_path: Path) -> None:
    write_bundle(tmp_path / "m", {"a": np.arange(100)})
    path = tmp_path / "m.data-00000-of-00001"
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(data)
    with TensorBundleReader(tmp_path / "m") as reader, pytest.raises(DataLossError, match="CRC"):
        reader.get_tensor("a")
