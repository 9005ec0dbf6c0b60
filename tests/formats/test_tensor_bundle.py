"""Reading a checkpoint that TensorFlow wrote (tests/oracle/file_formats_program.py), and its ruins."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from dataflow.errors import DataLossError, NotFoundError, UnimplementedError
from dataflow.formats.crc32c import masked_crc32c
from dataflow.formats.ordered_code import ordered_signed
from dataflow.formats.sstable import read_table
from dataflow.formats.tensor_bundle import TensorBundleReader, is_tensor_bundle

THEIRS = Path(__file__).with_name("tensorflow_files")
DATA = "model.ckpt-12.data-00000-of-00001"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    for path in THEIRS.glob("model.ckpt-12.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "model.ckpt-12"


@pytest.fixture(scope="module")
def reader() -> TensorBundleReader:
    return TensorBundleReader(THEIRS / "model.ckpt-12")


@pytest.mark.parametrize(
    "dtype", ["float16", "float64", "complex64", "complex128", "int8", "int16"]
)
def test_matrices(reader: TensorBundleReader, dtype: str) -> None:
    array = reader.get_tensor(dtype)
    assert array.dtype == dtype
    assert array.tolist() == np.arange(6).reshape(2, 3).astype(dtype).tolist()
    assert reader.get_variable_to_dtype_map()[dtype] == dtype


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "uint16", "float32"])
def test_vectors(reader: TensorBundleReader, dtype: str) -> None:
    array = reader.get_tensor(dtype)
    assert array.dtype == dtype
    assert array.tolist() == [0, 1, 100]


def test_other_tensors(reader: TensorBundleReader) -> None:
    assert reader.get_tensor("bool").tolist() == [True, False]
    scalar = reader.get_tensor("scope/scalar")
    assert scalar.shape == ()
    assert scalar == 7
    assert reader.get_tensor("empty").shape == (0, 4)
    strings = [[b"", b"a\0b"], ["cliché".encode(), b"x" * 300]]
    assert reader.get_tensor("string").tolist() == strings
    assert reader.get_tensor("many/layer_39/weights:0") == 39
    scalar += 1  # what is read may be written to


def test_bfloat16_becomes_float32(reader: TensorBundleReader) -> None:
    array = reader.get_tensor("bfloat16")
    assert array.dtype == np.float32
    assert array.tolist() == [1.0, -2.5, 3.140625]
    assert reader.get_variable_to_dtype_map()["bfloat16"] == "bfloat16"


@pytest.mark.parametrize(("name", "shape"), [("parts_0", (130, 2)), ("parts_1", (2, 7))])
def test_variable_in_parts(reader: TensorBundleReader, name: str, shape: tuple[int, ...]) -> None:
    whole = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert np.array_equal(reader.get_tensor(name), whole)
    assert reader.get_variable_to_shape_map()[name] == list(shape)


def test_names(reader: TensorBundleReader) -> None:
    assert len(reader) == len(reader.keys()) == 58
    assert list(reader) == sorted(reader.keys())
    assert "scope/scalar" in reader
    assert reader.has_tensor("parts_0")
    assert not reader.has_tensor("parts_0/part_0")
    with pytest.raises(NotFoundError, match="no tensor 'scope/scaler'.*'scope/scalar'"):
        reader.get_tensor("scope/scaler")


def test_missing_checkpoint(tmp_path: Path) -> None:
    assert not is_tensor_bundle(tmp_path / "model")
    assert is_tensor_bundle(THEIRS / "model.ckpt-12")
    with pytest.raises(NotFoundError, match=r"model\.index does not exist"):
        TensorBundleReader(tmp_path / "model")


def test_missing_data_file(prefix: Path) -> None:
    (prefix.parent / DATA).unlink()
    with pytest.raises(DataLossError, match="00000-of-00001: this part.*missing; 'int8'"):
        TensorBundleReader(prefix).get_tensor("int8")


def test_flipped_bit_in_the_data_is_found_in_every_tensor(prefix: Path) -> None:
    path = prefix.parent / DATA
    path.write_bytes(bytes(byte ^ 1 for byte in path.read_bytes()))
    reader = TensorBundleReader(prefix)
    for name in reader:
        if name == "empty":
            continue
        with pytest.raises(DataLossError, match="damaged") as caught:
            reader.get_tensor(name)
        assert name in str(caught.value)
        assert str(path) in str(caught.value)


def test_truncated_data(prefix: Path) -> None:
    path = prefix.parent / DATA
    path.write_bytes(path.read_bytes()[:100])
    reader = TensorBundleReader(prefix)
    with pytest.raises(DataLossError, match="uint8.*the file has 100. It was truncated"):
        reader.get_tensor("uint8")


def test_every_truncation_of_the_index_is_found(prefix: Path) -> None:
    path = Path(f"{prefix}.index")
    raw = path.read_bytes()
    for size in range(0, len(raw), 7):
        path.write_bytes(raw[:size])
        with pytest.raises(DataLossError, match="not a checkpoint index"):
            TensorBundleReader(prefix)


def test_flipped_bit_in_the_index_is_found(prefix: Path) -> None:
    path = Path(f"{prefix}.index")
    raw = path.read_bytes()
    footer = len(raw) - 48
    unread = 13  # the empty metaindex block, with its trailer, lies before the index block
    found = []
    for position in range(footer):
        path.write_bytes(raw[:position] + bytes([raw[position] ^ 8]) + raw[position + 1 :])
        try:
            TensorBundleReader(prefix)
        except DataLossError as error:
            found.append(str(path) in str(error))
    assert all(found)
    assert len(found) == footer - unread


def test_compressed_block_is_refused(tmp_path: Path) -> None:
    block = b"\0" * 8
    trailer = b"\1" + masked_crc32c(block + b"\1").to_bytes(4, "little")
    footer = bytes([0, 0, 0, 8]).ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")
    (tmp_path / "model.index").write_bytes(block + trailer + footer)
    with pytest.raises(UnimplementedError, match="compressed"):
        read_table(str(tmp_path / "model.index"))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "80"),
        (1, "81"),
        (63, "bf"),
        (-1, "7f"),
        (-64, "40"),
        (64, "c040"),
        (-65, "3fbf"),
        (8191, "dfff"),
        (8192, "e02000"),
    ],
)
def test_ordered_code_of_signed_numbers(value: int, encoded: str) -> None:
    assert ordered_signed(value).hex() == encoded


def test_ordered_code_keeps_the_order() -> None:
    values = sorted({s * (1 << b) + d for b in range(62) for d in (-1, 0, 1) for s in (-1, 1)})
    codes = [ordered_signed(value) for value in values]
    assert codes == sorted(codes)
