"""Named arrays in a file: there and back, damage, a full disk, and a kill in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from dataflow.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from dataflow.formats.safetensors_store import (
    ArrayInfo,
    list_arrays,
    read_arrays,
    read_metadata,
    write_arrays,
)

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.fixture
def arrays() -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return {"layer/W": rng.random((4, 3), np.float32), "layer/b": np.zeros(3), "step": np.array(7)}


def write_raw(path: Path, header: dict[str, Any], data: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (2, 3, 4)])
def test_there_and_back(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.random.default_rng(0).standard_normal(shape) * 100).astype(dtype)
    write_arrays(tmp_path / "a", {"x": array})
    back = read_arrays(tmp_path / "a")["x"]
    assert back.dtype == array.dtype
    assert back.shape == shape
    assert back.tobytes() == array.tobytes()
    assert list_arrays(tmp_path / "a") == {"x": ArrayInfo(dtype, shape)}
    assert back.flags.writeable


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (0,)])
def test_strings(tmp_path: Path, shape: tuple[int, ...]) -> None:
    words = [b"", b"a\0", "clich\u00e9", b"\xff" * 300][: int(np.prod(shape))]
    array = np.array(words, object).reshape(shape)
    write_arrays(tmp_path / "a", {"x": array, "after": np.arange(3)})
    back = read_arrays(tmp_path / "a")
    assert back["x"].shape == shape
    assert back["x"].reshape(-1).tolist() == [
        word.encode() if isinstance(word, str) else word for word in words
    ]
    assert list_arrays(tmp_path / "a")["x"] == ArrayInfo("string", shape)
    assert back["after"].tolist() == [0, 1, 2]


def test_numpys_own_strings(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a", {"s": np.array([b"ab", b"c"]), "u": np.array(["é", ""])})
    back = read_arrays(tmp_path / "a")
    assert back["s"].tolist() == [b"ab", b"c"]
    assert back["u"].tolist() == ["é".encode(), b""]


def test_layouts(tmp_path: Path) -> None:
    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    layouts = {
        "transposed": base.T,
        "strided": base[::2, ::3],
        "reversed": base[::-1],
        "big endian": base.astype(">i4"),
        "complex": (base * 1j)[:, ::2],
        "fortran complex": np.asfortranarray(base * 1j),
    }
    write_arrays(tmp_path / "a", layouts)
    for name, array in read_arrays(tmp_path / "a").items():
        assert np.array_equal(array, layouts[name]), name
        assert array.dtype.isnative


def test_the_safetensors_package_reads_it(tmp_path: Path, arrays: dict[str, Any]) -> None:
    write_arrays(tmp_path / "a", arrays)
    theirs = safetensors.numpy.load_file(tmp_path / "a")
    assert set(theirs) == set(arrays)
    assert all(np.array_equal(theirs[name], arrays[name]) for name in arrays)


def test_reads_what_the_safetensors_package_wrote(tmp_path: Path, arrays: dict[str, Any]) -> None:
    safetensors.numpy.save_file(arrays, tmp_path / "a", metadata={"who": "me"})
    back = read_arrays(tmp_path / "a")
    assert all(np.array_equal(back[name], arrays[name]) for name in arrays)
    assert read_metadata(tmp_path / "a") == {"who": "me"}


def test_metadata(tmp_path: Path, arrays: dict[str, Any]) -> None:
    write_arrays(tmp_path / "a", arrays, {"note": "é\n"})
    assert read_metadata(tmp_path / "a") == {"note": "é\n"}


def test_some_names(tmp_path: Path, arrays: dict[str, Any]) -> None:
    write_arrays(tmp_path / "a", arrays)
    assert list(read_arrays(tmp_path / "a", ["step"])) == ["step"]
    with pytest.raises(NotFoundError, match="not hold 'layer/w'.\n  it holds: .*'layer/W'"):
        read_arrays(tmp_path / "a", ["step", "layer/w"])


def test_bfloat16_of_other_writers(tmp_path: Path) -> None:
    header = {"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    path = write_raw(tmp_path / "a", header, b"\x80\x3f\x20\xc0")
    array = read_arrays(path)["x"]
    assert array.dtype == np.float32
    assert array.tolist() == [1.0, -2.5]
    assert list_arrays(path)["x"].dtype == "bfloat16"


def test_dtypes_that_cannot_be_stored(tmp_path: Path) -> None:
    for array in (np.array(["2020"], "M8[D]"), np.array([3, b"x"], object)):
        with pytest.raises(UnimplementedError, match="'x' has dtype"):
            write_arrays(tmp_path / "a", {"x": array})
    with pytest.raises(InvalidArgumentError, match="__metadata__"):
        write_arrays(tmp_path / "a", {"__metadata__": np.zeros(1)})
    assert list(tmp_path.iterdir()) == []
    header = {"x": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}}
    path = write_raw(tmp_path / "a", header, b"\0")
    assert list_arrays(path)["x"].dtype == "F8_E4M3"
    with pytest.raises(UnimplementedError, match="F8_E4M3"):
        read_arrays(path)


def test_every_truncation_is_found(tmp_path: Path, arrays: dict[str, Any]) -> None:
    write_arrays(tmp_path / "a", arrays)
    raw = (tmp_path / "a").read_bytes()
    cut = tmp_path / "cut"
    for size in range(len(raw)):
        cut.write_bytes(raw[:size])
        with pytest.raises(DataLossError, match="truncated|not a whole safetensors file") as caught:
            read_arrays(cut)
        assert str(cut) in str(caught.value)
    cut.write_bytes(raw[:-10])
    with pytest.raises(DataLossError, match=rf"truncated: .*{len(raw):,} bytes, {len(raw) - 10:,}"):
        list_arrays(cut)
    cut.write_bytes(raw + b"x")
    with pytest.raises(DataLossError, match="longer than its arrays"):
        list_arrays(cut)


def test_flipped_bit_names_the_array(tmp_path: Path, arrays: dict[str, Any]) -> None:
    write_arrays(tmp_path / "a", {"words": np.array([b"abc"], object), **arrays})
    raw = (tmp_path / "a").read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    named = set()
    for position in range(start, len(raw)):
        (tmp_path / "a").write_bytes(
            raw[:position] + bytes([raw[position] ^ 16]) + raw[position + 1 :]
        )
        with pytest.raises(DataLossError, match="is damaged: its CRC") as caught:
            read_arrays(tmp_path / "a")
        named.add(str(caught.value).split("'")[1])
    assert named == {"words", *arrays}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a whole safetensors file"),
        (b"<html><body>Not found</body></html>", "its header would be"),
        (b"\x02\0\0\0\0\0\0\0[]", "its header cannot be read"),
        (b"\x02\0\0\0\0\0\0\0\xff\xff", "its header cannot be read"),
    ],
)
def test_foreign_file(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DataLossError, match=message):
        read_arrays(tmp_path / "a")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"x": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, "starts at byte"),
        ({"x": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, "shape \\[3\\] is 12"),
        ({"x": {"dtype": "F32", "shape": [2]}}, "cannot be read"),
        ({"x": {"dtype": "F32", "shape": ["y"], "data_offsets": [0, 8]}}, "cannot be read"),
        (
            {
                "x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                "y": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
            },
            "'y' starts at byte",
        ),
    ],
)
def test_header_that_contradicts_itself(
    tmp_path: Path, entries: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataLossError, match=message):
        read_arrays(write_raw(tmp_path / "a", entries, bytes(12)))


def test_newer_format_is_refused(tmp_path: Path) -> None:
    header = {"__metadata__": {"dataflow": json.dumps({"format": 2})}}
    with pytest.raises(UnimplementedError, match="format 2 by a newer version"):
        read_arrays(write_raw(tmp_path / "a", header, b""))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no such file"):
        read_arrays(tmp_path / "absent")
    with pytest.raises(NotFoundError, match="folder .* does not exist"):
        write_arrays(tmp_path / "absent" / "a", {"x": np.zeros(1)})


def run(code: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, **options
    )


def test_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the end of the disk."""
    path = tmp_path / "a"
    write_arrays(path, {"x": np.arange(3)})
    code = (
        "import resource, sys, numpy as np\n"
        "from dataflow.errors import ResourceExhaustedError\n"
        "from dataflow.formats.safetensors_store import write_arrays\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n"
        "    write_arrays(sys.argv[1], {'x': np.zeros(100_000)})\n"
        "except ResourceExhaustedError as error:\n"
        "    print(error)\n"
    )
    process = run(code, str(path))
    out, _ = process.communicate(timeout=60)
    assert f"{path}: cannot be written" in out.decode()
    assert "unchanged" in out.decode()
    assert os.listdir(tmp_path) == ["a"]
    assert read_arrays(path)["x"].tolist() == [0, 1, 2]


def test_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    code = (
        "import sys, numpy as np\n"
        "from dataflow.formats.safetensors_store import write_arrays\n"
        "for i in range(100_000):\n"
        "    write_arrays(sys.argv[1], {'x': np.full(300_000, i), 'y': np.array(i)})\n"
        "    print(i, flush=True)\n"
    )
    for _ in range(4):
        process = run(code, str(path))
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.stdout.readline()
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
        back = read_arrays(path)
        assert (back["x"] == back["y"]).all()


@pytest.mark.parametrize(
    "change",
    [
        {"encodings": {"s": {"kind": "string"}}},  # without its shape
        {"encodings": {"s": {"kind": "string", "shape": [-1]}}},
        {"encodings": {"s": {"kind": "string", "shape": ["2"]}}},
        {"encodings": {"s": {"kind": "complex128"}}},
        {"encodings": {"s": {}}},
        {"encodings": {"s": None}},
        {"encodings": {"elsewhere": {"kind": "string", "shape": [1]}}},
        {"encodings": []},
        {"crc32": {"s": "text"}},
        {"crc32": 3},
    ],
)
def test_metadata_of_another_form_is_damage(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "a"
    write_arrays(path, {"s": np.array([b"a", b"bc"], object)})
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    note = json.loads(header["__metadata__"]["dataflow"])
    header["__metadata__"]["dataflow"] = json.dumps({**note, **change})
    write_raw(path, header, content[8 + length :])
    with pytest.raises(DataLossError, match=str(path)):
        list_arrays(path)
        read_arrays(path)
